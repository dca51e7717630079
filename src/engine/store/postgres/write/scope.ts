/** One write within a transaction on PostgreSQL: its statements, and its events and totals for the commit. */
import { ApiError } from '../../../../base/errors.ts'
import type { AnswerBound } from '../../../plan/answer-bound.ts'
import { slot, sql } from '../../sql/writer.ts'
import { type Inputs, type ResultRows, slotInputs } from '../../values.ts'
import type { ChangeEvent, ItemChange } from '../../write/event.ts'
import {
  isCheck,
  noAnswers,
  type QuerySteps,
  type RunCheck,
  refuseCheck,
  type StepQueries,
  type StepQuery,
  type WriteScope,
} from '../../write/steps.ts'
import { ConnectionLost, isLockTimeout, isTransient } from '../connections/failure.ts'
import { type BoundStatement, type Statement, statementOf } from '../connections/statement.ts'
import type { Transaction } from '../connections/transaction.ts'

const savepoint = statementOf(sql`SAVEPOINT "one_step"`)
const release = statementOf(sql`RELEASE "one_step"`)
const rollbackTo = statementOf(sql`ROLLBACK TO "one_step"`)

/** How long to wait for the lock of a table while other locks are held, in milliseconds. */
const heldLockMs = 50
export const limitLockWait = statementOf(sql`SELECT set_config('lock_timeout', ${slot(0)}, true)`)

/** How many statements are sent together. All of them must be answered within the time limit of one answer. */
const maxStatementsAtOnce = 1000
const noRows: ResultRows = []

/** The time of a transaction, as its writes store it and as rules compare it. */
export type Moment = Pick<WriteScope<unknown>, 'at' | 'now'>

export class Scope implements WriteScope<Statement> {
  readonly #transaction: Transaction
  readonly #moment: Moment
  readonly at: string
  readonly now: number | undefined
  events: ChangeEvent[] = []
  /** By how much the number of items changes. */
  readonly totals = new Map<string, number>()
  hasChanged = false
  answerBound: AnswerBound | undefined
  #hasDeferred = false
  /** The earlier writes of the same transaction. */
  readonly #earlier: readonly Scope[]

  constructor(transaction: Transaction, moment: Moment, before: readonly Scope[] = []) {
    this.#transaction = transaction
    this.#moment = moment
    this.at = moment.at
    this.now = moment.now
    this.#earlier = before
  }

  /** By how much the transaction has changed the number of items of a collection so far. */
  growth(collection: string): number {
    const own = this.totals.get(collection) ?? 0
    return this.#earlier.reduce((sum, { totals }) => sum + (totals.get(collection) ?? 0), own)
  }

  /** The scope of one of several concurrent writes; to be joined in their order. */
  fork(): Scope {
    return new Scope(this.#transaction, this.#moment, [...this.#earlier, this])
  }

  join({ events, totals, hasChanged }: Scope): void {
    // Not spread: a deletion may have more events than a call may have arguments.
    for (const event of events) this.events.push(event)
    for (const [collection, difference] of totals) this.count(collection, difference)
    this.hasChanged ||= hasChanged
  }

  /** Runs work that is undone alone if it fails, unless the whole transaction has to be tried again. */
  async savepoint<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
    const fork = this.fork()
    this.#transaction.queue(savepoint)
    try {
      const value = await work(fork)
      // A deferred statement may still fail, which must undo this work only.
      if (fork.#hasDeferred) await this.#transaction.rows(release)
      else this.#transaction.queue(release)
      this.join(fork)
      return value
    } catch (cause) {
      const failure = this.#transaction.failure ?? cause
      if (failure instanceof ConnectionLost || isTransient(failure) || isLockTimeout(failure)) throw failure
      this.#transaction.recover()
      this.#transaction.queue(rollbackTo)
      await this.#transaction.rows(release)
      // One that the work has translated says more.
      throw cause instanceof ApiError ? cause : failure
    }
  }

  /** Locks tables, with a short wait, since the transaction holds other locks. `lockWaitMs`: the wait for later locks. */
  async lock(locks: readonly Statement[], lockWaitMs: number): Promise<void> {
    if (locks.length === 0) return
    this.#transaction.queue(limitLockWait, slotInputs([String(heldLockMs)]))
    const locked = locks.map(lock => this.#transaction.rows(lock))
    this.#transaction.queue(limitLockWait, slotInputs([String(lockWaitMs)]))
    await Promise.all(locked)
  }

  /** See `TableLocks.claimsOf`. */
  claim(lock: Statement): void {
    this.#transaction.queue(lock)
  }

  rows(statement: Statement, inputs: Inputs): Promise<ResultRows> {
    if (statement.changes) this.hasChanged = true
    return this.#transaction.rows(statement, inputs)
  }

  /** For reads on behalf of the transaction's caller, which change nothing. */
  ask(query: BoundStatement): Promise<ResultRows> {
    return this.#transaction.ask(query)
  }

  defer(statement: Statement, inputs: Inputs): void {
    this.hasChanged = true
    this.#hasDeferred = true
    this.#transaction.queue(statement, inputs)
  }

  log(change: ItemChange): void {
    this.events.push({ at: this.at, ...change })
  }

  /** Replaces the changes of all steps by those that are to be logged. */
  async settle(
    steps: (changes: readonly ItemChange[]) => QuerySteps<Statement, readonly ItemChange[]>,
  ): Promise<void> {
    const settled = await this.run(steps(this.events), ({ inputs }) => inputs)
    this.events = settled.map(change => ({ at: this.at, ...change }))
  }

  count(collection: string, difference: number): void {
    this.totals.set(collection, (this.totals.get(collection) ?? 0) + difference)
  }

  /** Runs the steps to their end, each in as few round trips as possible. */
  async run<T>(
    steps: QuerySteps<Statement, T>,
    inputsOf: (query: StepQuery<Statement>) => Inputs,
    runCheck: RunCheck<Promise<void>> = refuseCheck,
  ): Promise<T> {
    let step = steps.next()
    while (!step.done) {
      const answers = isCheck(step.value)
        ? runCheck(step.value).then(() => noAnswers)
        : this.#rowsOf(step.value, inputsOf)
      step = await answers.then(
        rows => steps.next(rows),
        cause => steps.throw(cause),
      )
    }
    return step.value
  }

  async #rowsOf(
    queries: StepQueries<Statement>,
    inputsOf: (ask: StepQuery<Statement>) => Inputs,
  ): Promise<readonly ResultRows[]> {
    const rows: ResultRows[] = []
    for (let start = 0; start < queries.length; start += maxStatementsAtOnce) {
      const batch = queries.slice(start, start + maxStatementsAtOnce).map(query => {
        return query === undefined ? noRows : this.rows(query.statement, inputsOf(query))
      })
      rows.push(...(await Promise.all(batch)))
    }
    return rows
  }
}
