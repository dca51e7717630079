/** Runs reactions and jobs on one node at a time. The others take over when it fails. */

import type { EpochMs } from '../../base/epoch-ms.ts'
import type { Records } from '../../base/records.ts'
import type { ChangeFeed } from '../../engine/plan/change-feed.ts'
import type { Model } from '../../model/model.ts'
import { minTakeOverMs } from '../consumer/lease.ts'
import { LeasedLoop, type LeasedLoopParts } from '../consumer/leased-loop.ts'
import { leaseKey, positionKey, type RunnerPosition } from './position.ts'
import type { RunCounts } from './results.ts'
import { RunnerSession } from './session.ts'
import type { RunnerSessionParts } from './session-parts.ts'

/** The state for metrics. All values are zero on nodes without the lease. */
export interface RunnerState {
  readonly isRunning: boolean
  readonly inFlight: number
  /** Events that wait for a retry, or for an earlier event of their item. */
  readonly waiting: number
  /** The number of events that the slowest reaction has yet to process. */
  readonly lagEvents: number
  /** How long there have been such events. */
  readonly lagSeconds: number
}

export interface RunnerParts
  extends Omit<RunnerSessionParts, 'counts' | 'onChange'>,
    Pick<LeasedLoopParts<RunnerSession>, 'elapsed'> {}

/** How long the watchdog may take to end a process after the limit of code: no other takes over before. */
const watchdogDelayMs = 2000

export class Runner {
  readonly counts: RunCounts = { succeeded: 0, retried: 0, failed: 0, skipped: 0 }
  readonly #parts: RunnerParts
  readonly #loop: LeasedLoop<RunnerSession>

  constructor(parts: RunnerParts) {
    this.#parts = parts
    const { records, elapsed, log, clock, onFault, watchdog } = parts
    this.#loop = new LeasedLoop({
      ...{ leaseKey, records, elapsed, log, clock, onFault },
      takeOverMs: Math.max(minTakeOverMs, watchdog.limitMs + watchdogDelayMs),
      begin: holding =>
        new RunnerSession({ ...parts, counts: this.counts, onChange: () => this.#loop.notify() }, holding),
      isWanted: async () => true,
      isExpected: () => false,
    })
  }

  get state(): RunnerState {
    const { session, lagSeconds } = this.#loop
    return {
      isRunning: session !== undefined,
      inFlight: session?.inFlight ?? 0,
      waiting: session?.waiting ?? 0,
      lagEvents: session?.lag ?? 0,
      lagSeconds,
    }
  }

  /** Does nothing for a model without reactions and jobs. */
  start(): void {
    if (hasRuns(this.#parts.model)) this.#loop.start()
  }

  /** Waits a bounded time for runs in progress, then lets another node take over. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /**
   * Resolves when every event and due job that existed at the call has run, or has failed and waits for a retry. For
   * tests: it never resolves while another node holds the lease.
   */
  async settled(): Promise<void> {
    this.start()
    if (!hasRuns(this.#parts.model)) return
    for (;;) {
      if (this.#loop.isStopping) throw new Error('The service is closed: nothing runs any more.')
      this.#loop.notify()
      await new Promise(resolve => setImmediate(resolve))
      if (await this.#loop.session?.isSettled()) return
    }
  }
}

export function hasRuns({ logic }: Model): boolean {
  return logic.reactions.size > 0 || logic.jobs.size > 0
}

const maxTries = 20

export interface RegisterParts {
  readonly records: Pick<Records, 'get' | 'add' | 'swap'>
  readonly log: Pick<ChangeFeed, 'last'>
  readonly now: EpochMs
}

/**
 * Stores the positions at which new reactions and jobs begin: reactions at the end of the log, jobs at their next due time.
 * Called before the service accepts its first request.
 */
export async function registerRuns(model: Model, parts: RegisterParts): Promise<void> {
  if (!hasRuns(model)) return
  const { records } = parts
  for (let tries = 0; tries < maxTries; tries++) {
    const record = await records.get(positionKey.kind, positionKey.id)
    const stored: RunnerPosition & { readonly term: number } =
      record === undefined ? { reactions: {}, jobs: {}, term: 0 } : JSON.parse(record.payload)
    const place = await placeWith(model, stored, parts)
    if (place === undefined) return
    const payload = JSON.stringify({ ...stored, ...place })
    const isStored =
      record === undefined
        ? await records.add({ ...positionKey, payload, expiresAt: null })
        : await records.swap(positionKey, record.payload, payload)
    if (isStored) return
  }
}

/** Undefined if nothing is new. */
async function placeWith(
  model: Model,
  stored: RunnerPosition,
  { log, now }: RegisterParts,
): Promise<RunnerPosition | undefined> {
  const { reactions, jobs } = model.logic
  const newReactions = [...reactions.keys()].filter(name => !Object.hasOwn(stored.reactions, name))
  const newJobs = [...jobs.values()].filter(({ name }) => !Object.hasOwn(stored.jobs, name))
  const scheduled = newJobs.flatMap(({ name, schedule, timeZone }) =>
    schedule === undefined ? [] : [[name, { schedule, timeZone, until: now }] as const],
  )
  if (newReactions.length === 0 && scheduled.length === 0) return undefined
  const last = await log.last()
  return {
    reactions: { ...stored.reactions, ...Object.fromEntries(newReactions.map(name => [name, last])) },
    jobs: { ...stored.jobs, ...Object.fromEntries(scheduled) },
  }
}
