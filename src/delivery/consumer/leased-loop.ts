/** Work that one node does for all: the node with the lease. The others check whether it still has it. */
import { randomUUID } from 'node:crypto'
import type { RecordKey } from '../../base/records.ts'
import { Outage } from '../../engine/log/outage.ts'
import type { ChangeFeed } from '../../engine/plan/change-feed.ts'
import { Lease, type LeaseParts, renewIntervalMs } from './lease.ts'
import { LeaseLost } from './position.ts'
import type { Clock } from './timetable.ts'

/** The work of a node while it has the lease. */
export interface LeasedSession {
  /** Whether there is nothing to do until `isWanted`: then the lease is released. */
  readonly isOver: boolean
  /** How many events the session is behind the log. */
  readonly lag: number
  /**
   * Does a part of the work, and returns whether more is left. After a failure, the next call starts from the state in the
   * database. Rejects with `LeaseLost` if another node has the lease.
   */
  work(): Promise<boolean>
  /** Waits for work in progress, for a bounded time. */
  stop(timeoutMs: number): Promise<void>
  /** Abandons work in progress. */
  drop(): Promise<void>
}

export interface Holding {
  readonly term: number
  /** Whether the former holder has not released the lease: its process may have ended. */
  readonly isTakenOver: boolean
  /** Whether this node still has the lease. Renews it first if the last renewal was too long ago to tell. */
  readonly isHeld: () => Promise<boolean>
}

export interface LeasedLoopParts<S extends LeasedSession>
  extends Pick<LeaseParts, 'records' | 'elapsed' | 'takeOverMs'> {
  readonly leaseKey: RecordKey
  readonly log: ChangeFeed
  readonly clock: Clock
  readonly begin: (holding: Holding) => S
  /** Whether there may be work for any node. */
  readonly isWanted: () => Promise<boolean>
  /** Whether a failure is expected, and is reported only if it occurs repeatedly. */
  readonly isExpected: (error: unknown) => boolean
  readonly onFault: (error: unknown) => void
}

/** How often the holder looks for commits of other processes. */
const pollIntervalMs = 1000
/** How often a node checks whether there is any work. */
const dormantIntervalMs = 2000
/** How long a stopping service waits for work in progress. */
const stopTimeoutMs = 5000

/** A transaction is refused if an item was deleted while it was prepared. Repeated refusals are reported. */
const maxRefusals = 3

export class LeasedLoop<S extends LeasedSession> {
  readonly #parts: LeasedLoopParts<S>
  readonly #lease: Lease
  readonly #outage: Outage
  #session: S | undefined
  #stopWatching: () => void = () => undefined
  #running: Promise<void> | undefined
  #isStopping = false
  #isWanted = true
  #wake: (() => void) | undefined
  #isWoken = false
  #refusals = 0
  #behindSince: number | undefined

  constructor(parts: LeasedLoopParts<S>) {
    this.#parts = parts
    const { leaseKey: key } = parts
    this.#lease = new Lease({ ...parts, key, holder: randomUUID() })
    this.#outage = new Outage(() => parts.log.last(), parts.onFault)
  }

  /** Undefined on nodes without the lease. */
  get session(): S | undefined {
    return this.#session
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  /** For how long the session has been behind the log. */
  get lagSeconds(): number {
    const since = this.#session && this.#behindSince
    return since === undefined ? 0 : (this.#parts.elapsed() - since) / 1000
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Waits for work in progress, for a bounded time, and releases the lease. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.notify()
    await this.#running
  }

  /** Wakes the loop: there may be work. */
  notify(): void {
    this.#isWoken = true
    this.#wake?.()
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      if (!(await this.#runOnce())) await this.#idle()
    }
    await this.#endSession(session => session.stop(stopTimeoutMs))
  }

  /** Returns whether to continue at once. */
  async #runOnce(): Promise<boolean> {
    try {
      const hasMore = await this.#work()
      this.#outage.end()
      this.#refusals = 0
      return hasMore
    } catch (error) {
      if (error instanceof LeaseLost) await this.#endSession(session => session.drop())
      else if (!this.#parts.isExpected(error) || ++this.#refusals === maxRefusals) this.#outage.report(error)
      await this.#outage.pause()
      return false
    }
  }

  async #work(): Promise<boolean> {
    const { log } = this.#parts
    const session = this.#session ?? (await this.#beginSession())
    if (session === undefined) return false
    if (!this.#lease.isHeld && !(await this.#lease.renew())) throw new LeaseLost()
    await log.poll()
    const hasMore = await session.work()
    if (session.lag === 0) this.#behindSince = undefined
    else this.#behindSince ??= this.#parts.elapsed()
    if (session.isOver) await this.#endSession(async () => undefined)
    return hasMore
  }

  async #beginSession(): Promise<S | undefined> {
    const { log, isWanted, begin } = this.#parts
    await log.poll()
    this.#isWanted = await isWanted()
    if (!this.#isWanted) return undefined
    const term = await this.#lease.take()
    if (term === undefined) return undefined
    const session = begin({ term, isTakenOver: this.#lease.isTakenOver, isHeld: () => this.#isHeld() })
    this.#session = session
    this.#behindSince = undefined
    const stopListening = log.onCommit(() => this.notify())
    const stopRenewing = this.#startRenewing()
    this.#stopWatching = () => {
      stopListening()
      stopRenewing()
    }
    return session
  }

  /** False also during an outage of the database, in which nothing can be recorded. */
  async #isHeld(): Promise<boolean> {
    return this.#lease.isHeld || (await this.#lease.renew().catch(() => false))
  }

  /** Renews the lease at intervals, also while a long part of the work runs. Returns a function that stops this. */
  #startRenewing(): () => void {
    const { clock } = this.#parts
    let isEnded = false
    let cancel: () => void = () => undefined
    const renewLater = () => {
      cancel = clock.after(renewIntervalMs, async () => {
        try {
          if (!isEnded && !(await this.#lease.renew())) this.notify()
        } catch (error) {
          this.#outage.report(error)
        }
        if (!isEnded) renewLater()
      })
    }
    renewLater()
    return () => {
      isEnded = true
      cancel()
    }
  }

  async #endSession(end: (session: S) => Promise<void>): Promise<void> {
    const session = this.#session
    if (session === undefined) return
    this.#session = undefined
    await end(session)
    this.#stopWatching()
    // During an outage of the database, the lease expires by itself.
    await this.#lease.release().catch(() => undefined)
  }

  /** Resolves after an interval, or on `notify`. */
  async #idle(): Promise<void> {
    if (!this.#isWoken && !this.#isStopping) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const cancel = this.#parts.clock.after(this.#isWanted ? pollIntervalMs : dormantIntervalMs, resolve)
      this.#wake = resolve
      await promise
      this.#wake = undefined
      cancel()
    }
    this.#isWoken = false
  }
}
