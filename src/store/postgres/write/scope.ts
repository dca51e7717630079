/** One write within a transaction on PostgreSQL: what it asks, and what it leaves for the commit. */
import type { Inputs } from '../../values.ts'
import type { ChangeEvent, ItemChange } from '../../write/event.ts'
import type { Ask, Asks, Rows, Steps, WriteScope } from '../../write/steps.ts'
import type { Query, Statement } from '../connections/statement.ts'
import type { Transaction } from '../connections/transaction.ts'

/** What may be sent together: an answer to all of it must come in time. */
const maxStatementsAtOnce = 1000
const noRows: Rows = []

/** The time of a transaction, as its writes store it and as rules take it. */
export type Moment = Pick<WriteScope<unknown>, 'at' | 'now'>

export class Scope implements WriteScope<Statement> {
  readonly #transaction: Transaction
  readonly #moment: Moment
  readonly at: string
  readonly now: number | undefined
  readonly events: ChangeEvent[] = []
  /** By how much the number of items changes. */
  readonly totals = new Map<string, number>()
  hasChanged = false
  /** The writes that were done before it in the same transaction. */
  readonly #before: readonly Scope[]

  constructor(transaction: Transaction, moment: Moment, before: readonly Scope[] = []) {
    this.#transaction = transaction
    this.#moment = moment
    this.at = moment.at
    this.now = moment.now
    this.#before = before
  }

  /** By how much the transaction has changed the number of items of a collection so far. */
  grown(collection: string): number {
    const own = this.totals.get(collection) ?? 0
    return this.#before.reduce((sum, { totals }) => sum + (totals.get(collection) ?? 0), own)
  }

  /** Of a write beside others, which is to be joined in its place. */
  beside(): Scope {
    return new Scope(this.#transaction, this.#moment, [...this.#before, this])
  }

  join({ events, totals, hasChanged }: Scope): void {
    this.events.push(...events)
    for (const [collection, difference] of totals) this.count(collection, difference)
    this.hasChanged ||= hasChanged
  }

  rows(statement: Statement, inputs: Inputs): Promise<Rows> {
    if (statement.changes) this.hasChanged = true
    return this.#transaction.rows(statement, inputs)
  }

  /** For reads of the transaction's caller, which change nothing. */
  ask(query: Query): Promise<Rows> {
    return this.#transaction.ask(query)
  }

  defer(statement: Statement, inputs: Inputs): void {
    this.hasChanged = true
    this.#transaction.queue(statement, inputs)
  }

  log(change: ItemChange): void {
    this.events.push({ at: this.at, ...change })
  }

  count(collection: string, difference: number): void {
    this.totals.set(collection, (this.totals.get(collection) ?? 0) + difference)
  }

  /** Takes the steps to their end, each in as few round trips as may be. */
  async answered<T>(steps: Steps<Statement, T>, inputsOf: (ask: Ask<Statement>) => Inputs): Promise<T> {
    let step = steps.next()
    while (!step.done) {
      step = await this.#rowsOf(step.value, inputsOf).then(
        rows => steps.next(rows),
        cause => steps.throw(cause),
      )
    }
    return step.value
  }

  async #rowsOf(asks: Asks<Statement>, inputsOf: (ask: Ask<Statement>) => Inputs): Promise<readonly Rows[]> {
    const rows: Rows[] = []
    for (let at = 0; at < asks.length; at += maxStatementsAtOnce) {
      const sent = asks.slice(at, at + maxStatementsAtOnce).map(ask => {
        return ask === undefined ? noRows : this.rows(ask.statement, inputsOf(ask))
      })
      rows.push(...(await Promise.all(sent)))
    }
    return rows
  }
}
