/**
 * A transaction whose writes run concurrently: their statements of one turn are sent together. The first statement that fails
 * ends the transaction for all of them.
 */
import { type Inputs, noInputs, type SqlValue } from '../../values.ts'
import type { Connection } from './connection.ts'
import { ConnectionLost, TransactionFailed } from './failure.ts'
import type { BoundStatement, DataRows, Statement } from './statement.ts'

interface PendingStatement {
  readonly query: BoundStatement
  readonly resolve: (rows: DataRows) => void
  readonly reject: (error: unknown) => void
}

export class Transaction {
  readonly #connection: Connection
  #pending: PendingStatement[] = []
  #isScheduled = false
  #running: Promise<void> = Promise.resolve()
  #failure: Error | undefined
  /** The command tag of the last statement. */
  tag = ''

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** The failure of a statement, if any: from then on, only a rollback is possible. */
  get failure(): Error | undefined {
    return this.#failure
  }

  rows(statement: Statement, inputs: Inputs = noInputs): Promise<DataRows> {
    return this.ask(statement.with(inputs))
  }

  ask(query: BoundStatement): Promise<DataRows> {
    const { promise, resolve, reject } = Promise.withResolvers<DataRows>()
    this.#pending.push({ query, resolve, reject })
    this.#schedule()
    return promise
  }

  /** For a statement whose result nobody needs: if it fails, the transaction fails. */
  queue(statement: Statement, inputs: Inputs = noInputs): void {
    this.rows(statement, inputs).catch(() => {})
  }

  /** For a rollback after a failure: drops the statements that were queued since the failure. */
  recover(): void {
    const cause = this.#failure
    this.#failure = undefined
    if (cause === undefined) return
    const error = new TransactionFailed('A statement before it failed.', { cause })
    for (const { reject } of this.#pending.splice(0)) reject(error)
  }

  /** After all microtasks, in which other writes may queue statements too. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => process.nextTick(() => this.#send()))
  }

  #send(): void {
    this.#isScheduled = false
    const batch = this.#pending
    if (batch.length === 0) return
    this.#pending = []
    this.#running = this.#running.then(() => this.#run(batch))
  }

  async #run(batch: readonly PendingStatement[]): Promise<void> {
    if (this.#failure !== undefined) {
      const failure = new TransactionFailed('A statement before it failed.', { cause: this.#failure })
      for (const { reject } of batch) reject(failure)
      return
    }
    const { results, tags, error } = await this.#connection.run(batch.map(({ query }) => query))
    this.tag = tags.at(-1) ?? ''
    this.#failure = error
    for (const [index, { resolve, reject }] of batch.entries()) {
      const rows = results[index]
      if (rows !== undefined) resolve(rows)
      else if (index === results.length || error instanceof ConnectionLost) reject(error)
      else reject(new TransactionFailed('A statement before it failed.', { cause: error }))
    }
  }
}

/** The first row, or an empty one. */
export function firstRow(rows: DataRows): readonly SqlValue[] {
  return rows[0] ?? []
}
