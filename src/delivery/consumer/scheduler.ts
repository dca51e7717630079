/**
 * Decides when each task is attempted. Tasks of one item keep their order; those of other items may overtake. Targets
 * (webhooks, reactions, jobs) and hosts take turns (see `lane.ts`). Tasks that are not yet due are in the timetable.
 */
import type { EpochMs } from '../../base/epoch-ms.ts'
import { ItemQueue, type Task } from './item-queue.ts'
import { Lane, type LaneLimits } from './lane.ts'
import { type Clock, Timetable } from './timetable.ts'

/** The outcome of an attempt. */
export interface Verdict<T extends Task> {
  readonly succeeded: boolean
  /** The task to attempt again; undefined: it is finished. */
  readonly retry: T | undefined
  /**
   * Resolves once the outcome is stored; undefined: it is. Until then, no later task of the item starts: after a crash, the
   * attempts that were not stored are repeated, and an item must not go back by more than one of them.
   */
  readonly stored?: Promise<void> | undefined
  /** No task of the target is attempted before this time. */
  readonly holdUntil?: EpochMs | undefined
}

/** The target of tasks, e.g. a webhook. */
type TargetId = number | string

export interface SchedulerParts<T extends Task> {
  readonly clock: Clock
  readonly targetOf: (task: T) => TargetId
  /** Makes an attempt and records its outcome. Rejects if the outcome could not be recorded. */
  readonly attempt: (task: T) => Promise<Verdict<T>>
  readonly onFault: (error: unknown) => void
  readonly limits?: Partial<SchedulerLimits>
}

export interface SchedulerLimits extends LaneLimits {
  /** Parallel attempts of one target, while they succeed quickly. */
  readonly maxPerTarget: number
  /** Parallel attempts of one target otherwise. */
  readonly maxPerSlowTarget: number
  /** An attempt that takes longer moves to the slow lane. */
  readonly slowAfterMs: number
}

/** For each lane. */
const defaultLimits: SchedulerLimits = {
  maxInFlight: 32,
  maxPerHost: 4,
  maxPerTarget: 4,
  maxPerSlowTarget: 1,
  slowAfterMs: 2000,
}
/**
 * The delay before a retry of an attempt whose outcome could not be recorded, doubled with each such attempt of its target up to
 * a maximum. It begins short: a node that holds the lease for seconds only must get to a second attempt.
 */
const minFaultDelayMs = 200
const maxFaultDelayMs = 5000

interface Target<T extends Task> {
  readonly id: TargetId
  readonly host: string
  readonly items: Map<string, ItemQueue<T>>
  /** Items whose first task is due, in the order of their turns. */
  readonly ready: Set<ItemQueue<T>>
  /** Tasks, including those in progress. */
  size: number
  inFlight: number
  isSlow: boolean
  heldUntil: number
  /** Consecutive attempts whose outcome could not be recorded. */
  faults: number
  isRemoved: boolean
}

export class Scheduler<T extends Task> {
  readonly #parts: SchedulerParts<T>
  readonly #limits: SchedulerLimits
  readonly #timetable: Timetable
  readonly #quick: Lane<Target<T>>
  readonly #slow: Lane<Target<T>>
  readonly #targets = new Map<TargetId, Target<T>>()
  readonly #running = new Set<Promise<void>>()
  /** Attempts that are finished, and whose outcome is not stored yet. */
  #unstored = 0
  #size = 0
  #isStopped = false

  constructor(parts: SchedulerParts<T>) {
    this.#parts = parts
    this.#limits = { ...defaultLimits, ...parts.limits }
    this.#timetable = new Timetable(parts.clock)
    this.#quick = new Lane(this.#limits)
    this.#slow = new Lane(this.#limits)
  }

  /** How many tasks wait or are in progress. */
  get size(): number {
    return this.#size
  }

  /** Attempts in progress, and those whose outcome is not stored yet. */
  get inFlight(): number {
    return this.#running.size + this.#unstored
  }

  sizeOf(targetId: TargetId): number {
    return this.#targets.get(targetId)?.size ?? 0
  }

  /** Whether its last attempt failed or was slow. */
  isSlow(targetId: TargetId): boolean {
    return this.#targets.get(targetId)?.isSlow ?? false
  }

  /** The lowest event of all tasks that wait or are in progress. */
  lowestEvent(): number | undefined {
    return lowestOf([...this.#targets.keys()].map(id => this.lowestEventOf(id)))
  }

  /** The lowest event of the tasks of one target that wait or are in progress. */
  lowestEventOf(targetId: TargetId): number | undefined {
    const items = this.#targets.get(targetId)?.items.values() ?? []
    return lowestOf([...items].map(({ lowestEvent }) => lowestEvent))
  }

  /** `host`: the host of a webhook's URL, or the target's name. Replaces a task with the same id, unless it is in progress. */
  add(task: T, host: string): void {
    if (this.#isStopped) return
    const id = this.#parts.targetOf(task)
    const target = this.#targets.get(id) ?? this.#addTarget(id, host)
    const item = target.items.get(task.itemKey) ?? new ItemQueue<T>(task.itemKey)
    target.items.set(task.itemKey, item)
    if (item.add(task)) this.#changeSize(target, 1)
    this.#plan(target, item)
    this.#start()
  }

  /** Drops the tasks that wait. An attempt in progress is finished, and not repeated. */
  remove(targetId: TargetId): void {
    const target = this.#targets.get(targetId)
    if (target === undefined) return
    this.#targets.delete(targetId)
    target.isRemoved = true
    this.#changeSize(target, -target.size)
    this.#quick.leave(target)
    this.#slow.leave(target)
  }

  /** Starts the tasks that are due: the clock may have been set. */
  startDue(): void {
    this.#timetable.runDue()
  }

  /** Starts no more attempts. Resolves when those in progress are finished. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timetable.close()
    await Promise.all(this.#running)
  }

  #addTarget(id: TargetId, host: string): Target<T> {
    const target: Target<T> = {
      id,
      host,
      items: new Map(),
      ready: new Set(),
      size: 0,
      inFlight: 0,
      isSlow: false,
      heldUntil: 0,
      faults: 0,
      isRemoved: false,
    }
    this.#targets.set(id, target)
    return target
  }

  #changeSize(target: Target<T>, change: number): void {
    target.size += change
    this.#size += change
  }

  /** Lets the first task of an item wait until it is due, or for its turn. */
  #plan(target: Target<T>, item: ItemQueue<T>): void {
    const { head } = item
    if (head === undefined || item.isRunning || target.isRemoved) return
    if (head.dueAt > this.#parts.clock.now()) {
      target.ready.delete(item)
      this.#planAt(target, item, head.dueAt)
      return
    }
    target.ready.add(item)
    this.#wait(target)
  }

  #planAt(target: Target<T>, item: ItemQueue<T>, dueAt: number): void {
    if (item.plannedAt === dueAt) return
    item.plannedAt = dueAt
    // By then, another task may be the first, with another due time.
    this.#timetable.add(dueAt, () => {
      item.plannedAt = undefined
      this.#plan(target, item)
      this.#start()
    })
  }

  #laneOf({ isSlow }: Target<T>): Lane<Target<T>> {
    return isSlow ? this.#slow : this.#quick
  }

  /** Lets a target wait for its turn, if it has a task that is due and may start one. */
  #wait(target: Target<T>): void {
    const maxInFlight = target.isSlow ? this.#limits.maxPerSlowTarget : this.#limits.maxPerTarget
    if (target.isRemoved || target.ready.size === 0 || target.inFlight >= maxInFlight) return
    if (target.heldUntil > this.#parts.clock.now()) return
    this.#laneOf(target).wait(target)
  }

  #start(): void {
    for (const lane of [this.#quick, this.#slow]) {
      while (!this.#isStopped) {
        const target = lane.next()
        if (target === undefined) break
        if (lane !== this.#laneOf(target)) this.#wait(target)
        else this.#startNext(lane, target)
      }
    }
  }

  #startNext(lane: Lane<Target<T>>, target: Target<T>): void {
    const [item] = target.ready
    const task = item?.head
    if (item === undefined || task === undefined) return
    target.ready.delete(item)
    item.isRunning = true
    target.inFlight++
    lane.enter(target)
    this.#wait(target)
    const running = this.#run(lane, target, item, task).finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  async #run(lane: Lane<Target<T>>, target: Target<T>, item: ItemQueue<T>, task: T): Promise<void> {
    const { attempt, clock, onFault } = this.#parts
    let occupiedLane = lane
    const cancel = clock.after(this.#limits.slowAfterMs, () => {
      target.isSlow = true
      if (occupiedLane === this.#slow) return
      occupiedLane.release(target)
      occupiedLane = this.#slow
      occupiedLane.enter(target)
      this.#start()
    })
    const startedAt = clock.now()
    let verdict: Verdict<T>
    try {
      verdict = await attempt(task)
      target.faults = 0
    } catch (error) {
      onFault(error)
      const delayMs = Math.min(minFaultDelayMs * 2 ** target.faults++, maxFaultDelayMs)
      verdict = { succeeded: false, retry: { ...task, dueAt: clock.now() + delayMs } }
    }
    cancel()
    target.isSlow = !verdict.succeeded || clock.now() - startedAt > this.#limits.slowAfterMs
    occupiedLane.release(target)
    target.inFlight--
    if (verdict.stored === undefined) this.#settle(target, item, task, verdict)
    else this.#settleOnceStored(verdict.stored, () => this.#settle(target, item, task, verdict))
    this.#wait(target)
    this.#start()
  }

  #settleOnceStored(stored: Promise<void>, settle: () => void): void {
    this.#unstored++
    void stored.then(() => {
      this.#unstored--
      settle()
      this.#start()
    })
  }

  #settle(target: Target<T>, item: ItemQueue<T>, task: T, { retry, holdUntil }: Verdict<T>): void {
    item.isRunning = false
    if (target.isRemoved) return
    if (retry !== undefined) item.replace(task, retry)
    else {
      item.remove(task)
      this.#changeSize(target, -1)
    }
    if (item.head === undefined) target.items.delete(item.key)
    if (holdUntil !== undefined && holdUntil > target.heldUntil) this.#hold(target, holdUntil)
    this.#plan(target, item)
    if (target.size === 0 && !target.isSlow && target.heldUntil === 0) this.#targets.delete(target.id)
  }

  #hold(target: Target<T>, until: number): void {
    target.heldUntil = until
    this.#quick.leave(target)
    this.#slow.leave(target)
    this.#timetable.add(until, () => {
      this.#wait(target)
      this.#start()
    })
  }
}

function lowestOf(events: readonly (number | undefined)[]): number | undefined {
  let lowest: number | undefined
  for (const event of events) {
    if (event !== undefined && (lowest === undefined || event < lowest)) lowest = event
  }
  return lowest
}
