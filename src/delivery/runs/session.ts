/** Runs reactions and jobs while this node holds the lease. */

import { Pause } from '../../base/pause.ts'
import { recordsOf } from '../../base/records.ts'
import { maxBatchBytes } from '../../engine/log/log-batch.ts'
import { type LogicRun, runOf, storedRun, storeStep, waitingKind } from '../../engine/logic/run.ts'
import type { LoggedChange } from '../../engine/plan/change-feed.ts'
import type { RecordChange } from '../../engine/plan/transaction.ts'
import { longestBackOffMs } from '../consumer/back-off.ts'
import type { Holding, LeasedSession } from '../consumer/leased-loop.ts'
import { StoredPosition } from '../consumer/position.ts'
import { Scheduler, type Verdict } from '../consumer/scheduler.ts'
import { afterAtMost } from '../consumer/timetable.ts'
import { attemptRun } from './attempt.ts'
import { Planner } from './jobs/planner.ts'
import { JobQueue } from './jobs/queue.ts'
import {
  nextPosition,
  type PushArguments,
  positionKey,
  type RunnerPosition,
  reactionPosition,
  withoutNames,
} from './position.ts'
import { ReactionProgress } from './reactions/progress.ts'
import { RunRequests } from './requests.ts'
import { RunResults } from './results.ts'
import type { RunnerSessionParts } from './session-parts.ts'
import { Suspects } from './suspects.ts'

const batchSize = 200
const holdIntervalMs = 10_000
/** A position that only advances past events of other types is stored after this many events. */
const storeIntervalEvents = 1000
/** When a run is tried again after the node has lost the lease: it may regain it. */
const leaseLostDelayMs = 1000
/** When a run is tried again that waits for another one. */
const suspectDelayMs = 200
/** Longer runs move to the lane of slow ones, so that they do not delay others. */
const slowAfterMs = 2000

interface PendingChange {
  readonly steps: readonly RecordChange[]
  readonly committed: (() => void) | undefined
}

/** The state that a session reads from the database when it begins. */
interface SessionState {
  readonly position: StoredPosition<RunnerPosition>
  readonly reactions: readonly ReactionProgress[]
  readonly planner: Planner
  readonly jobs: JobQueue
  readonly requests: RunRequests
  readonly scheduler: Scheduler<LogicRun>
  readonly suspects: Suspects
  readonly abort: AbortController
}

export class RunnerSession implements LeasedSession {
  readonly isOver = false
  readonly #parts: RunnerSessionParts
  readonly #holding: Holding
  /** Whether runs may have been in progress when the process of the former holder ended. */
  #hasSuspects: boolean
  /** The run whose mark is stored, until it has ended. */
  #marked: string | undefined
  #state: SessionState | undefined
  #pending: PendingChange[] = []
  #isStoring = false
  /** Changes read in this turn, by the id of the event before them. */
  #batches = new Map<number, readonly LoggedChange[]>()
  readonly #holdPause = new Pause()
  #heldEvent: number | null | undefined
  #newestEvent = 0
  /** Reactions and jobs that the model does not have, and whose positions an operator has removed. */
  readonly #forgotten = new Set<string>()

  constructor(parts: RunnerSessionParts, holding: Holding) {
    this.#parts = parts
    this.#holding = holding
    this.#hasSuspects = holding.isTakenOver
  }

  /** Events that are stored outside the log, to be retried or in the queue of their item. */
  get waiting(): number {
    return this.#state?.reactions.reduce((sum, { stored }) => sum + stored, 0) ?? 0
  }

  /** The maximum number of concurrent runs of one reaction or job. */
  get #share(): number {
    return Math.ceil(this.#parts.concurrency / 2)
  }

  get inFlight(): number {
    return this.#state?.scheduler.inFlight ?? 0
  }

  /** The approximate number of events that the slowest reaction has yet to process. */
  get lag(): number {
    const positions = this.#state?.reactions.map(({ position }) => position) ?? []
    return positions.length === 0 ? 0 : Math.max(0, this.#newestEvent - Math.min(...positions))
  }

  async work(): Promise<boolean> {
    const state = this.#state ?? (await this.#begin())
    try {
      return await this.#work(state)
    } catch (error) {
      await this.drop()
      throw error
    }
  }

  async stop(timeoutMs: number): Promise<void> {
    const state = this.#state
    if (state === undefined) return
    const cancel = afterAtMost(this.#parts.clock, timeoutMs, () => state.abort.abort())
    await state.scheduler.stop()
    cancel()
    // A run whose result cannot be stored runs again.
    await this.#flush(state).catch(this.#parts.onFault)
  }

  async drop(): Promise<void> {
    const state = this.#state
    if (state === undefined) return
    this.#state = undefined
    state.abort.abort()
    await state.scheduler.stop()
    this.#pending = []
  }

  /** Whether every event and due job that exists at the call is done, or has failed and waits for a retry. */
  async isSettled(): Promise<boolean> {
    const state = this.#state
    if (state === undefined) return false
    const { scheduler, reactions, jobs, planner } = state
    scheduler.startDue()
    jobs.pollNow()
    const last = await this.#parts.log.last()
    const now = this.#parts.clock.now()
    return (
      scheduler.inFlight === 0 &&
      this.#pending.length === 0 &&
      !this.#isStoring &&
      reactions.every(({ read, isIdle }) => read >= last && isIdle) &&
      (planner.next === undefined || planner.next > now) &&
      !(await jobs.hasDue(now))
    )
  }

  async #work(state: SessionState): Promise<boolean> {
    const { reactions, requests, jobs } = state
    const { log } = this.#parts
    this.#newestEvent = await log.last()
    await requests.handleAll()
    this.#plan(state)
    await jobs.load()
    let hasMore = false
    this.#batches = new Map()
    for (const track of reactions) {
      hasMore = (await track.refill(this.#newestEvent, async () => log.bounds())) || hasMore
    }
    await this.#flush(state)
    if (state.suspects.isOver) this.#hasSuspects = false
    await this.#hold(state)
    return hasMore || this.#pending.length > 0
  }

  async #begin(): Promise<SessionState> {
    const { model, run, records, log, clock } = this.#parts
    const start = async (): Promise<RunnerPosition> => ({ reactions: {}, jobs: {} })
    const position = await StoredPosition.take({ key: positionKey, run, records }, this.#holding.term, start)
    const { reactions: positions, jobs } = position.current
    const abort = new AbortController()
    const last = await log.last()
    const scheduler = this.#scheduler(abort)
    const add = (task: LogicRun) => scheduler.add(task, task.name)
    const store = (task: LogicRun) => {
      this.#push([storeStep(task)])
      add(storedRun(task))
    }
    const reactions = [...model.logic.reactions.values()].map(reaction => {
      const { onGap } = this.#parts
      const start = reactionPosition(position.current, reaction.name) ?? { position: last, doneAhead: [] }
      const read = (event: number) => this.#read(event)
      return new ReactionProgress({ ...start, model, reaction, read, onRun: add, onStore: store, onGap })
    })
    const push = (...args: PushArguments) => this.#push(...args)
    const planner = new Planner(model, jobs, this.#parts.onMissed)
    const queue = new JobQueue({ model, records, clock, add, push })
    const isLoaded = (id: string) => queue.isLoaded(id)
    const forget = (name: string) => void this.#forgotten.add(name)
    const parts = { records, clock, add, push, isLoaded, forget }
    const requests = new RunRequests(parts, name => reactions.find(track => track.name === name))
    const max = this.#hasSuspects ? this.#share : 0
    const { random } = this.#parts
    const suspects = new Suspects({ max, event: last, marked: this.#marked, now: clock.now, random })
    const state = { position, reactions, planner, jobs: queue, requests, scheduler, suspects, abort }
    const waiting: LogicRun[] = []
    // A retry that is due later was stored while the clock was wrong.
    const lastDueAt = clock.now() + longestBackOffMs
    for await (const record of recordsOf(records, waitingKind)) {
      const run = runOf(record)
      waiting.push({ ...run, dueAt: Math.min(run.dueAt, lastDueAt) })
    }
    // From here on, runs start.
    this.#state = state
    const known = waiting.filter(({ name }) => reactions.some(track => track.name === name))
    const retries = firstOfItems(known).filter(({ attempts }) => attempts > 0)
    for (const retry of retries.toSorted((a, b) => a.dueAt - b.dueAt)) suspects.note(retry)
    this.#restore(waiting, state)
    this.#reportUnknown(Object.keys(positions))
    return state
  }

  #scheduler(abort: AbortController): Scheduler<LogicRun> {
    const { clock, onFault, concurrency } = this.#parts
    const share = this.#share
    return new Scheduler<LogicRun>({
      clock,
      onFault,
      targetOf: ({ name }) => name,
      attempt: task => this.#attempt(task, abort.signal),
      limits: {
        maxInFlight: concurrency,
        maxPerHost: share,
        maxPerTarget: share,
        maxPerSlowTarget: share,
        slowAfterMs,
      },
    })
  }

  #restore(waiting: readonly LogicRun[], { reactions }: SessionState): void {
    const unknown = new Set<string>()
    for (const task of waiting) {
      const track = reactions.find(({ name }) => name === task.name)
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
    const cached = this.#batches.get(event)
    if (cached !== undefined) return cached
    const changes = await this.#parts.log.after(event, batchSize, maxBatchBytes)
    this.#batches.set(event, changes)
    return changes
  }

  #plan({ planner, jobs }: SessionState): void {
    const before = planner.planned
    const runs = planner.plan(this.#parts.clock.now())
    for (const task of runs) this.#push([storeStep(task)], () => jobs.pollNow())
    if (runs.length === 0 && planner.planned !== before) this.#push([])
  }

  #push(...[steps, committed]: PushArguments): void {
    this.#pending.push({ steps, committed })
    this.#parts.onChange()
  }

  /** Stores the results of runs and all positions, in one transaction. */
  async #flush({ position, reactions, planner }: SessionState): Promise<void> {
    const { current } = position
    const isStoredPositionOld = reactions.some(({ name, position: event }) => {
      const stored = current.reactions[name]
      return stored === undefined || event - stored >= storeIntervalEvents
    })
    const changes = this.#pending
    if (changes.length === 0 && !isStoredPositionOld) return
    this.#pending = []
    const steps = changes.flatMap(change => change.steps)
    this.#isStoring = true
    try {
      const next = nextPosition(current, reactions, planner.planned)
      await position.commit(steps, withoutNames(next, this.#forgotten))
    } finally {
      this.#isStoring = false
    }
    for (const { committed } of changes) committed?.()
  }

  async #hold({ position }: SessionState): Promise<void> {
    const { clock, hold, model } = this.#parts
    if (!this.#holdPause.isOver(clock.now())) return
    this.#holdPause.begin(clock.now(), holdIntervalMs)
    const { reactions } = position.current
    const events = [...model.logic.reactions.keys()].flatMap(name => reactions[name] ?? [])
    const lowest = events.length === 0 ? null : Math.min(...events)
    if (lowest !== this.#heldEvent) await hold(lowest)
    this.#heldEvent = lowest
  }

  async #attempt(task: LogicRun, signal: AbortSignal): Promise<Verdict<LogicRun>> {
    const state = this.#state
    if (state === undefined) return this.#retryLater(task)
    const { suspects, requests } = state
    const results = this.#results(state)
    if (requests.isSkipped(task)) {
      suspects.end(task)
      return results.skip(task)
    }
    if (!results.isTooDeep(task)) suspects.note(task)
    if (!(await this.#canRecord(signal))) return this.#retryLater(task)
    if (results.isTooDeep(task)) return results.giveUpChain(task)
    const next = suspects.next(task)
    if (next === 'wait') return this.#retryLater(task, suspectDelayMs)
    if (next === 'mark') {
      const verdict = results.processEnded(task)
      if (verdict.retry === undefined) suspects.end(task)
      void verdict.stored?.then(() => {
        this.#marked = task.id
      })
      return verdict
    }
    const outcome = await attemptRun(this.#parts, task, signal)
    if (outcome.kind === 'interrupted' || this.#state !== state) return this.#retryLater(task)
    suspects.end(task)
    const verdict = results.settle(task, outcome)
    void verdict.stored?.then(() => {
      if (this.#marked === task.id) this.#marked = undefined
    })
    return verdict
  }

  #results({ reactions, planner, jobs }: SessionState): RunResults {
    const { clock, random, counts, onFailed } = this.#parts
    return new RunResults({
      progressOf: name => reactions.find(track => track.name === name),
      nextOf: (name, after) => planner.nextOf(name, after),
      forget: task => jobs.forget(task),
      push: (...args) => this.#push(...args),
      now: clock.now,
      random,
      counts,
      onFailed,
    })
  }

  async #canRecord(signal: AbortSignal): Promise<boolean> {
    return (await this.#holding.isHeld()) && !signal.aborted
  }

  #retryLater(task: LogicRun, delayMs = leaseLostDelayMs): Verdict<LogicRun> {
    return { succeeded: false, retry: { ...task, dueAt: this.#parts.clock.now() + delayMs } }
  }
}

/** The first run of each item: the others wait for it, and were not in progress. */
function firstOfItems(runs: readonly LogicRun[]): readonly LogicRun[] {
  const firsts = new Map<string, LogicRun>()
  for (const run of runs) {
    const key = JSON.stringify([run.name, run.itemKey])
    const first = firsts.get(key)
    if (first === undefined || (run.event ?? 0) < (first.event ?? 0)) firsts.set(key, run)
  }
  return [...firsts.values()]
}
