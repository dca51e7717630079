/**
 * Group commit: the writes that arrive in one turn of the event loop, or while a commit is under way, become one
 * transaction. Each is done wholly or not at all, and none is answered before the COMMIT that covers it.
 */
import { ApiError } from '../../errors.ts'
import { sql } from '../sql/writer.ts'
import { ConnectionLost, failureOf, isPassing } from './failure.ts'
import { noInputs, statementOf } from './statement.ts'
import { Scope, Transaction } from './transaction.ts'
import type { Wire } from './wire.ts'

const MAX_BATCH = 500
/** How many groups take savepoints from the start after one that needed them. */
const CAREFUL = 20
/** How often a group is done again that met a deadlock, or whose connection broke before its COMMIT. */
const TRIES = 5
/** After a failed try to connect, writes are refused at once for so long, in milliseconds. */
const PAUSE = 200

export interface Job<T> {
  /** Jobs with the same key are done one after the other, in the order of keys; without one, side by side. */
  readonly key: string | undefined
  /** Whether it is done when nothing else of the group is under way. */
  readonly alone: boolean
  readonly run: (scope: Scope) => Promise<T>
}

export interface Done<T> {
  readonly value: T
  readonly scope: Scope
}

export interface CommitOptions<T> {
  readonly open: () => Promise<Wire>
  /** How many connections write at the same time. */
  readonly lanes: number
  readonly maxWaiting: number
  /** The time, in milliseconds since 1970. */
  readonly now: () => number
  /** Queues what belongs to the commit; what it returns is called after the commit. */
  readonly beforeCommit: (transaction: Transaction, done: readonly Done<T>[]) => () => void
  /** Between groups: cleans up, now and then. */
  readonly atRest: (wire: Wire) => Promise<void>
}

interface Waiting<T> {
  readonly job: Job<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: ApiError) => void
}

type Outcome<T> = Done<T> | { readonly error: ApiError }
type Outcomes<T> = ReadonlyMap<Waiting<T>, Outcome<T>>

const begin = statementOf(sql`BEGIN`)
const commit = statementOf(sql`COMMIT`)
const rollback = statementOf(sql`ROLLBACK`)
const savepoint = statementOf(sql`SAVEPOINT "one_write"`)
const release = statementOf(sql`RELEASE "one_write"`)
const rollbackTo = statementOf(sql`ROLLBACK TO "one_write"`)

export class CommitQueue<T> {
  readonly #options: CommitOptions<T>
  readonly #drain = (): void => this.#next()
  readonly #idle: Wire[] = []
  readonly #wires = new Set<Wire>()
  #waiting: Waiting<T>[] = []
  #scheduled = false
  #lanes = 0
  #careful = 0
  #pausedUntil = 0
  #resting: (() => void)[] = []
  #isClosed = false
  /** Commits, and the writes that they hold. */
  readonly counts = { commits: 0, writes: 0 }

  constructor(options: CommitOptions<T>) {
    this.#options = options
  }

  /** Runs a job within the next transaction, perhaps twice. What it throws undoes it, and only it. */
  add(job: Job<T>): Promise<T> {
    const refused = this.#refusal()
    if (refused !== undefined) return Promise.reject(new ApiError('UNAVAILABLE', refused))
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#waiting.push({ job, resolve, reject })
    this.#schedule()
    return promise
  }

  /** Ends the connections that nobody uses: they may be as dead as another that was found so. */
  dropIdle(): void {
    for (const wire of this.#idle.splice(0)) wire.destroy()
  }

  /** The database is known to be away: whoever waits for an answer is refused now. */
  lose(): void {
    this.#pausedUntil = performance.now() + PAUSE
    for (const wire of [...this.#wires]) wire.destroy()
  }

  /** Finishes what waits, then closes the connections. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#lanes > 0 || this.#waiting.length > 0) {
      await new Promise<void>(resolve => this.#resting.push(resolve))
    }
    await Promise.all([...this.#wires].map(wire => wire.close()))
  }

  #refusal(): string | undefined {
    if (this.#isClosed) return 'The service is stopping.'
    if (this.#waiting.length >= this.#options.maxWaiting) return 'Too many changes are waiting to be stored.'
    if (this.#wires.size === 0 && performance.now() < this.#pausedUntil)
      return 'The database cannot be reached.'
    return undefined
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#drain)
  }

  #next(): void {
    this.#scheduled = false
    if (this.#waiting.length === 0) {
      if (this.#lanes === 0) for (const resolve of this.#resting.splice(0)) resolve()
      return
    }
    if (this.#lanes >= this.#options.lanes) return
    this.#lanes++
    void this.#lane(this.#waiting.splice(0, MAX_BATCH)).finally(() => {
      this.#lanes--
      this.#schedule()
    })
  }

  async #lane(group: readonly Waiting<T>[]): Promise<void> {
    for (let tries = 1; ; tries++) {
      let wire: Wire | undefined
      try {
        wire = await this.#wire()
        await this.#transact(wire, group)
        return
      } catch (cause) {
        if (!(cause instanceof Again) || tries >= TRIES) return this.#refuse(group, cause)
        await new Promise(resolve => setTimeout(resolve, Math.random() * 20 * tries))
      } finally {
        if (wire !== undefined) await this.#rest(wire)
      }
    }
  }

  async #rest(wire: Wire): Promise<void> {
    if (!wire.isClosed) await this.#options.atRest(wire).catch(() => wire.destroy())
    if (!wire.isClosed) this.#idle.push(wire)
  }

  #refuse(group: readonly Waiting<T>[], cause: unknown): void {
    const error = failureOf(cause instanceof Again ? cause.cause : cause)
    for (const { reject } of group) reject(error.code === 'UNAVAILABLE' ? error : unavailable(cause))
  }

  async #wire(): Promise<Wire> {
    for (let wire = this.#idle.pop(); wire !== undefined; wire = this.#idle.pop()) {
      if (!wire.isClosed) return wire
    }
    if (this.#wires.size === 0 && performance.now() < this.#pausedUntil) {
      throw new ConnectionLost('The database cannot be reached.')
    }
    try {
      const wire = await this.#options.open()
      this.#wires.add(wire)
      wire.onClose(() => this.#wires.delete(wire))
      return wire
    } catch (cause) {
      this.#pausedUntil = performance.now() + PAUSE
      throw cause
    }
  }

  /** Answers each write, or throws when none of them is done. */
  async #transact(wire: Wire, group: readonly Waiting<T>[]): Promise<void> {
    const transaction = new Transaction(wire)
    const outcomes =
      (await this.#plainly(transaction, group)) ?? (await this.#withSavepoints(transaction, group))
    const done = [...outcomes.values()].filter(outcome => 'value' in outcome)
    const after = this.#options.beforeCommit(transaction, done)
    await transaction.rows(commit, noInputs).catch(cause => this.#failedCommit(wire, transaction, cause))
    if (transaction.tag !== 'COMMIT') throw unavailable(transaction.failure)
    this.counts.commits++
    this.counts.writes += done.length
    after()
    for (const [{ resolve, reject }, outcome] of outcomes) {
      if ('error' in outcome) reject(outcome.error)
      else resolve(outcome.value)
    }
  }

  /** Where the connection broke, nobody knows whether the COMMIT was done: it must not be tried again. */
  async #failedCommit(wire: Wire, transaction: Transaction, cause: unknown): Promise<never> {
    const failure = transaction.failure ?? cause
    if (failure instanceof ConnectionLost) throw unavailable(failure)
    transaction.recover()
    await transaction.rows(rollback).catch(() => wire.destroy())
    throw isPassing(failure) ? new Again(failure) : unavailable(failure)
  }

  /**
   * Nearly no write fails after it has changed something. When one does, everything is undone, and done again
   * with savepoints, one after the other. Undefined: nothing is done.
   */
  async #plainly(transaction: Transaction, group: readonly Waiting<T>[]): Promise<Outcomes<T> | undefined> {
    if (this.#careful > 0) {
      this.#careful--
      return undefined
    }
    transaction.queue(begin)
    const at = new Date(this.#options.now()).toISOString()
    const outcomes = new Map<Waiting<T>, Outcome<T>>()
    let undone = false
    const one = async (waiting: Waiting<T>) => {
      const scope = new Scope(transaction, at)
      try {
        outcomes.set(waiting, { value: await waiting.job.run(scope), scope })
      } catch (cause) {
        undone ||= scope.hasChanged || !(cause instanceof ApiError)
        outcomes.set(waiting, { error: failureOf(cause) })
      }
    }
    await sideBySide(group, one)
    if (transaction.failure === undefined && !undone) return outcomes
    await this.#rollBack(transaction)
    this.#careful = CAREFUL
    return undefined
  }

  async #withSavepoints(transaction: Transaction, group: readonly Waiting<T>[]): Promise<Outcomes<T>> {
    transaction.queue(begin)
    const at = new Date(this.#options.now()).toISOString()
    const outcomes = new Map<Waiting<T>, Outcome<T>>()
    for (const waiting of ordered(group)) {
      const scope = new Scope(transaction, at)
      outcomes.set(waiting, await this.#savepoint(transaction, scope, waiting.job))
    }
    return outcomes
  }

  async #savepoint(transaction: Transaction, scope: Scope, job: Job<T>): Promise<Outcome<T>> {
    transaction.queue(savepoint)
    try {
      const value = await job.run(scope)
      await transaction.rows(release)
      return { value, scope }
    } catch (cause) {
      const failure = transaction.failure ?? cause
      if (failure instanceof ConnectionLost || isPassing(failure)) {
        await this.#rollBack(transaction)
        throw new Again(failure)
      }
      transaction.recover()
      transaction.queue(rollbackTo)
      await transaction.rows(release)
      return { error: failureOf(cause instanceof ApiError ? cause : failure) }
    }
  }

  /** Throws when it should all be done again, perhaps on another connection. */
  async #rollBack(transaction: Transaction): Promise<void> {
    const { failure } = transaction
    if (failure instanceof ConnectionLost) throw new Again(failure)
    transaction.recover()
    await transaction.rows(rollback)
    if (failure !== undefined && isPassing(failure)) throw new Again(failure)
  }
}

/** Nothing is done, and it should be tried again. */
class Again extends Error {
  constructor(cause: unknown) {
    super('The transaction should be tried again.', { cause })
  }
}

function unavailable(cause: unknown): ApiError {
  return new ApiError('UNAVAILABLE', undefined, { cause })
}

/** Rows are locked in one order by all, as far as it is known beforehand, so that few wait for each other in rings. */
function ordered<T>(group: readonly Waiting<T>[]): readonly Waiting<T>[] {
  const keyed = group.filter(({ job }) => job.key !== undefined && !job.alone)
  const alone = group.filter(({ job }) => job.alone)
  const others = group.filter(({ job }) => job.key === undefined && !job.alone)
  const order = (one: Waiting<T>, other: Waiting<T>) => compare(one.job.key ?? '', other.job.key ?? '')
  return [...keyed.toSorted(order), ...others, ...alone.toSorted(order)]
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** Those that share a key one after the other, those that must be alone at last. */
async function sideBySide<T>(
  group: readonly Waiting<T>[],
  run: (waiting: Waiting<T>) => Promise<void>,
): Promise<void> {
  const last = new Map<string, Promise<void>>()
  const running: Promise<void>[] = []
  const alone: Waiting<T>[] = []
  for (const waiting of ordered(group)) {
    const { key, alone: isAlone } = waiting.job
    if (isAlone) alone.push(waiting)
    else if (key === undefined) running.push(run(waiting))
    else {
      const before = last.get(key)
      const mine = before === undefined ? run(waiting) : before.then(() => run(waiting))
      last.set(key, mine)
      running.push(mine)
    }
  }
  await Promise.all(running)
  for (const waiting of alone) await run(waiting)
}
