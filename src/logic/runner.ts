/** Runs reactions and jobs: one node at a time does, the others watch whether it still does. */
import type { ChangeFeed } from '../events/change-feed.ts'
import { LeasedLoop, type LeasedLoopParts } from '../events/consumer/leased-loop.ts'
import type { Model } from '../model/model.ts'
import type { Records } from '../records.ts'
import { leaseKey, type Place, positionKey } from './runs/place.ts'
import type { RunCounts } from './runs/results.ts'
import { Session } from './runs/session.ts'
import type { SessionParts } from './runs/session-parts.ts'

/** How it is now; zeros on nodes that run nothing. */
export interface RunnerState {
  readonly isRunning: boolean
  readonly inFlight: number
  /** Events that wait to be tried again, or for an earlier event of their item. */
  readonly waiting: number
  /** Events that the reaction which is furthest behind has not got to, and for how many seconds there have been some. */
  readonly lagEvents: number
  readonly lagSeconds: number
}

export interface RunnerParts
  extends Omit<SessionParts, 'counts' | 'onChange'>,
    Pick<LeasedLoopParts<Session>, 'elapsed'> {}

export class Runner {
  readonly counts: RunCounts = { succeeded: 0, retried: 0, failed: 0, skipped: 0 }
  readonly #parts: RunnerParts
  readonly #loop: LeasedLoop<Session>

  constructor(parts: RunnerParts) {
    this.#parts = parts
    const { records, elapsed, log, clock, onFault } = parts
    this.#loop = new LeasedLoop({
      ...{ leaseKey, records, elapsed, log, clock, onFault },
      begin: holding =>
        new Session({ ...parts, counts: this.counts, onChange: () => this.#loop.notify() }, holding),
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

  /** Does nothing where the model has neither reactions nor jobs. */
  start(): void {
    if (hasRuns(this.#parts.model)) this.#loop.start()
  }

  /** Awaits what is under way for a bounded time, and lets another node go on. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /**
   * Resolves when every event and every due job has been run that there was when it was called, or has failed and is to
   * be tried again later. For tests: while another node runs them, it never resolves.
   */
  async settled(): Promise<void> {
    this.start()
    if (!hasRuns(this.#parts.model)) return
    for (;;) {
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
  /** In milliseconds since 1970. */
  readonly now: number
}

/**
 * Lets reactions that are new begin at the end of the log, and jobs that are new with their next due time: called before
 * the service takes its first request.
 */
export async function registerRuns(model: Model, parts: RegisterParts): Promise<void> {
  if (!hasRuns(model)) return
  const { records } = parts
  for (let tries = 0; tries < maxTries; tries++) {
    const record = await records.get(positionKey.kind, positionKey.id)
    const stored: Place & { readonly term: number } =
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

/** Undefined: nothing is new. */
async function placeWith(
  model: Model,
  stored: Place,
  { log, now }: RegisterParts,
): Promise<Place | undefined> {
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
