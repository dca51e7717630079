/** Runs reactions and jobs while this node holds the lease. */
import { type LoggedChange, maxBatchBytes } from '../../events/change-feed.ts'
import type { Holding, LeasedSession } from '../../events/consumer/leased-loop.ts'
import { Position } from '../../events/consumer/position.ts'
import { Scheduler, type Verdict } from '../../events/consumer/scheduler.ts'
import type { RecordChange } from '../../plan/transaction.ts'
import { recordsOf } from '../../records.ts'
import { Planner } from '../jobs/planner.ts'
import { JobQueue } from '../jobs/queue.ts'
import { Track } from '../reactions/track.ts'
import { attemptRun } from './attempt.ts'
import { type Place, type PushArguments, positionKey } from './place.ts'
import { RunRequests } from './requests.ts'
import { Results } from './results.ts'
import { type Run, runOf, storedRun, stores, waitingKind } from './run.ts'
import type { SessionParts } from './session-parts.ts'

const batchSize = 200
const holdIntervalMs = 10_000
/** A position that has only passed events of other types is stored after this many. */
const storeIntervalEvents = 1000
/** After how long a run is considered again if the node has lost the lease, which it may regain. */
const leaseLostDelayMs = 1000
/** Longer runs move to the lane of slow ones, so that they do not delay others. */
const quickMs = 2000

interface Change {
  readonly steps: readonly RecordChange[]
  readonly committed: (() => void) | undefined
}

/** The state that a session reads from the database when it begins. */
interface Opened {
  readonly position: Position<Place>
  readonly tracks: readonly Track[]
  readonly planner: Planner
  readonly jobs: JobQueue
  readonly requests: RunRequests
  readonly scheduler: Scheduler<Run>
  readonly abort: AbortController
}

export class Session implements LeasedSession {
  readonly isOver = false
  readonly #parts: SessionParts
  readonly #holding: Holding
  #opened: Opened | undefined
  #pending: Change[] = []
  #isStoring = false
  /** Changes read in this turn, by the id of the event before them. */
  #batches = new Map<number, readonly LoggedChange[]>()
  #holdAt = 0
  #held: number | undefined
  #newest = 0
  /** Reactions and jobs that the model does not have, and whose places an operator has removed. */
  readonly #forgotten = new Set<string>()

  constructor(parts: SessionParts, holding: Holding) {
    this.#parts = parts
    this.#holding = holding
  }

  /** Events that are stored outside the log, to be retried or in the queue of their item. */
  get waiting(): number {
    return this.#opened?.tracks.reduce((sum, { stored }) => sum + stored, 0) ?? 0
  }

  get inFlight(): number {
    return this.#opened?.scheduler.inFlight ?? 0
  }

  /** Approximately how many events the slowest reaction has yet to process. */
  get lag(): number {
    const positions = this.#opened?.tracks.map(({ position }) => position) ?? []
    return positions.length === 0 ? 0 : Math.max(0, this.#newest - Math.min(...positions))
  }

  async work(): Promise<boolean> {
    const opened = this.#opened ?? (await this.#begin())
    try {
      return await this.#work(opened)
    } catch (error) {
      await this.drop()
      throw error
    }
  }

  async stop(timeoutMs: number): Promise<void> {
    const opened = this.#opened
    if (opened === undefined) return
    const cancel = this.#parts.clock.after(timeoutMs, () => opened.abort.abort())
    await opened.scheduler.stop()
    cancel()
    // A run whose result cannot be stored runs again.
    await this.#flush(opened).catch(this.#parts.onFault)
  }

  async drop(): Promise<void> {
    const opened = this.#opened
    if (opened === undefined) return
    this.#opened = undefined
    opened.abort.abort()
    await opened.scheduler.stop()
    this.#pending = []
  }

  /** Whether every event and due job of the time of the call is done, or has failed and waits for a retry. */
  async isSettled(): Promise<boolean> {
    const opened = this.#opened
    if (opened === undefined) return false
    const { scheduler, tracks, jobs, planner } = opened
    scheduler.look()
    jobs.look()
    const last = await this.#parts.log.last()
    const now = this.#parts.clock.now()
    return (
      scheduler.inFlight === 0 &&
      this.#pending.length === 0 &&
      !this.#isStoring &&
      tracks.every(({ read, isIdle }) => read >= last && isIdle) &&
      (planner.next === undefined || planner.next > now) &&
      !(await jobs.hasDue(now))
    )
  }

  async #work(opened: Opened): Promise<boolean> {
    const { tracks, requests, jobs } = opened
    const { log } = this.#parts
    this.#newest = await log.last()
    await requests.take()
    this.#plan(opened)
    await jobs.load()
    let hasMore = false
    this.#batches = new Map()
    for (const track of tracks) {
      hasMore = (await track.refill(this.#newest, async () => log.bounds())) || hasMore
    }
    await this.#flush(opened)
    await this.#hold(opened)
    return hasMore || this.#pending.length > 0
  }

  async #begin(): Promise<Opened> {
    const { model, run, records, log, clock } = this.#parts
    const start = async (): Promise<Place> => ({ reactions: {}, jobs: {} })
    const position = await Position.take({ key: positionKey, run, records }, this.#holding.term, start)
    const { reactions, jobs } = position.place
    const abort = new AbortController()
    const last = await log.last()
    const scheduler = this.#scheduler(abort)
    const add = (task: Run) => scheduler.add(task, task.name)
    const store = (task: Run) => {
      this.#push([stores(task)])
      add(storedRun(task))
    }
    const tracks = [...model.logic.reactions.values()].map(reaction => {
      const { onGap } = this.#parts
      const parts = { model, reaction, onRun: add, onWaiting: store, onGap }
      const from = Object.hasOwn(reactions, reaction.name) ? reactions[reaction.name] : undefined
      return new Track({ ...parts, position: from ?? last, read: event => this.#read(event) })
    })
    const push = (...args: PushArguments) => this.#push(...args)
    const planner = new Planner(model, jobs, this.#parts.onMissed)
    const queue = new JobQueue({ model, records, clock, add, push })
    const isTaken = (id: string) => queue.isTaken(id)
    const forget = (name: string) => void this.#forgotten.add(name)
    const parts = { records, clock, add, push, isTaken, forget }
    const requests = new RunRequests(parts, name => tracks.find(track => track.name === name))
    const opened = { position, tracks, planner, jobs: queue, requests, scheduler, abort }
    await this.#restore(opened)
    this.#opened = opened
    this.#reportUnknown(Object.keys(reactions))
    return opened
  }

  #scheduler(abort: AbortController): Scheduler<Run> {
    const { clock, onFault, concurrency } = this.#parts
    const share = Math.ceil(concurrency / 2)
    return new Scheduler<Run>({
      clock,
      onFault,
      targetOf: ({ name }) => name,
      attempt: task => this.#attempt(task, abort.signal),
      limits: {
        maxInFlight: concurrency,
        maxPerHost: share,
        maxPerTarget: share,
        maxPerSlowTarget: share,
        quickMs,
      },
    })
  }

  async #restore({ tracks }: Opened): Promise<void> {
    const unknown = new Set<string>()
    for await (const record of recordsOf(this.#parts.records, waitingKind)) {
      const task = runOf(record)
      const track = tracks.find(({ name }) => name === task.name)
      if (track === undefined) unknown.add(task.name)
      else if (task.kind === 'reaction') track.restore(task)
    }
    for (const name of unknown) this.#parts.onUnknown(name)
  }

  #reportUnknown(names: readonly string[]): void {
    const { model, onUnknown } = this.#parts
    for (const name of names) if (!model.logic.reactions.has(name)) onUnknown(name)
  }

  async #read(event: number): Promise<readonly LoggedChange[]> {
    const known = this.#batches.get(event)
    if (known !== undefined) return known
    const changes = await this.#parts.log.after(event, batchSize, maxBatchBytes)
    this.#batches.set(event, changes)
    return changes
  }

  #plan({ planner, jobs }: Opened): void {
    const before = planner.planned
    const runs = planner.plan(this.#parts.clock.now())
    for (const task of runs) this.#push([stores(task)], () => jobs.look())
    if (runs.length === 0 && planner.planned !== before) this.#push([])
  }

  #push(...[steps, committed]: PushArguments): void {
    this.#pending.push({ steps, committed })
    this.#parts.onChange()
  }

  /** Stores the results of runs and all positions, in one transaction. */
  async #flush({ position, tracks, planner }: Opened): Promise<void> {
    const { place } = position
    const events = Object.fromEntries(tracks.map(track => [track.name, track.position]))
    const isFar = tracks.some(({ name, position: at }) => {
      const stored = place.reactions[name]
      return stored === undefined || at - stored >= storeIntervalEvents
    })
    const changes = this.#pending
    if (changes.length === 0 && !isFar) return
    this.#pending = []
    const steps = changes.flatMap(change => change.steps)
    this.#isStoring = true
    try {
      await position.commit(steps, {
        reactions: { ...without(place.reactions, this.#forgotten), ...events },
        jobs: without(planner.planned, this.#forgotten),
      })
    } finally {
      this.#isStoring = false
    }
    for (const { committed } of changes) committed?.()
  }

  async #hold({ position }: Opened): Promise<void> {
    const { clock, hold, model } = this.#parts
    if (clock.now() < this.#holdAt) return
    this.#holdAt = clock.now() + holdIntervalMs
    const { reactions } = position.place
    const events = [...model.logic.reactions.keys()].flatMap(name => reactions[name] ?? [])
    const lowest = events.length === 0 ? undefined : Math.min(...events)
    if (lowest !== undefined && lowest !== this.#held) await hold(lowest)
    this.#held = lowest
  }

  async #attempt(task: Run, signal: AbortSignal): Promise<Verdict<Run>> {
    const opened = this.#opened
    if (opened?.requests.isSkipped(task)) return this.#results(opened).skip(task)
    if (opened === undefined || !this.#mayRecord(signal)) return this.#later(task)
    const results = this.#results(opened)
    if (results.isTooDeep(task)) return results.giveUpChain(task)
    const outcome = await attemptRun(this.#parts, task, signal)
    if (outcome.kind === 'interrupted' || this.#opened !== opened) return this.#later(task)
    return results.settle(task, outcome)
  }

  #results({ tracks, planner, jobs }: Opened): Results {
    const { clock, random, counts, onFailed } = this.#parts
    return new Results({
      trackOf: name => tracks.find(track => track.name === name),
      nextOf: (name, after) => planner.nextOf(name, after),
      forget: task => jobs.forget(task),
      push: (...args) => this.#push(...args),
      now: clock.now,
      random,
      counts,
      onFailed,
    })
  }

  #mayRecord(signal: AbortSignal): boolean {
    return this.#holding.isHeld() && !signal.aborted
  }

  #later(task: Run): Verdict<Run> {
    return { succeeded: false, again: { ...task, dueAt: this.#parts.clock.now() + leaseLostDelayMs } }
  }
}

function without<T>(places: Readonly<Record<string, T>>, names: ReadonlySet<string>): Record<string, T> {
  return Object.fromEntries(Object.entries(places).filter(([name]) => !names.has(name)))
}
