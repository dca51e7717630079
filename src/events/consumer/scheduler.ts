/**
 * Decides which delivery is attempted when. Deliveries of one item keep their order, others overtake; webhooks and hosts
 * take turns (see `lane.ts`); what must wait for its time is in the timetable.
 */
import type { Delivery } from './delivery.ts'
import { ItemQueue } from './item-queue.ts'
import { Lane, type LaneLimits } from './lane.ts'
import { type Clock, Timetable } from './timetable.ts'

/** What became of an attempt. */
export interface Verdict {
  readonly succeeded: boolean
  /** The delivery as it is tried again; undefined: it is not. */
  readonly again: Delivery | undefined
  /** Until then no delivery of the webhook is attempted, in milliseconds since 1970. */
  readonly holdUntil?: number | undefined
}

export interface SchedulerParts {
  readonly clock: Clock
  /** Makes an attempt, and records what became of it. Rejects where that could not be recorded. */
  readonly attempt: (delivery: Delivery) => Promise<Verdict>
  readonly onFault: (error: unknown) => void
  readonly limits?: Partial<SchedulerLimits>
}

export interface SchedulerLimits extends LaneLimits {
  /** Of one webhook at once, while it answers quickly; otherwise one. */
  readonly maxPerWebhook: number
  /** What takes longer goes on among the slow ones. */
  readonly quickMs: number
}

/** For each lane. */
const defaultLimits: SchedulerLimits = { maxInFlight: 32, maxPerHost: 4, maxPerWebhook: 4, quickMs: 2000 }
/** An attempt that could not be recorded is made again after this. */
const faultDelayMs = 5000

interface Target {
  readonly id: number
  readonly host: string
  readonly items: Map<string, ItemQueue>
  /** Items whose first delivery is due, in the order of their turns. */
  readonly ready: Set<ItemQueue>
  /** Deliveries, those that are being attempted included. */
  size: number
  inFlight: number
  isSlow: boolean
  heldUntil: number
  isRemoved: boolean
}

export class Scheduler {
  readonly #parts: SchedulerParts
  readonly #limits: SchedulerLimits
  readonly #timetable: Timetable
  readonly #quick: Lane<Target>
  readonly #slow: Lane<Target>
  readonly #targets = new Map<number, Target>()
  readonly #running = new Set<Promise<void>>()
  #size = 0
  #isStopped = false

  constructor(parts: SchedulerParts) {
    this.#parts = parts
    this.#limits = { ...defaultLimits, ...parts.limits }
    this.#timetable = new Timetable(parts.clock)
    this.#quick = new Lane(this.#limits)
    this.#slow = new Lane(this.#limits)
  }

  /** How many deliveries wait or are being attempted. */
  get size(): number {
    return this.#size
  }

  get inFlight(): number {
    return this.#running.size
  }

  sizeOf(webhookId: number): number {
    return this.#targets.get(webhookId)?.size ?? 0
  }

  /** Whether its last attempt failed or was slow. */
  isSlow(webhookId: number): boolean {
    return this.#targets.get(webhookId)?.isSlow ?? false
  }

  /** The lowest event that waits or is being attempted, of all webhooks. */
  lowestEvent(): number | undefined {
    let lowest: number | undefined
    for (const { items } of this.#targets.values()) {
      for (const item of items.values()) {
        const event = item.lowestEvent
        if (event !== undefined && (lowest === undefined || event < lowest)) lowest = event
      }
    }
    return lowest
  }

  /** `host`: of the webhook's URL. One that is already here, and not being attempted, is replaced. */
  add(delivery: Delivery, host: string): void {
    if (this.#isStopped) return
    const target = this.#targets.get(delivery.webhookId) ?? this.#addTarget(delivery.webhookId, host)
    const item = target.items.get(delivery.itemKey) ?? new ItemQueue(delivery.itemKey)
    target.items.set(delivery.itemKey, item)
    if (item.add(delivery)) this.#changeSize(target, 1)
    this.#plan(target, item)
    this.#start()
  }

  /** Drops what waits. An attempt under way is finished, and not made again. */
  remove(webhookId: number): void {
    const target = this.#targets.get(webhookId)
    if (target === undefined) return
    this.#targets.delete(webhookId)
    target.isRemoved = true
    this.#changeSize(target, -target.size)
    this.#quick.leave(target)
    this.#slow.leave(target)
  }

  /** Starts no attempt any more. Resolves when those under way are finished. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timetable.close()
    await Promise.all(this.#running)
  }

  #addTarget(id: number, host: string): Target {
    const target: Target = {
      id,
      host,
      items: new Map(),
      ready: new Set(),
      size: 0,
      inFlight: 0,
      isSlow: false,
      heldUntil: 0,
      isRemoved: false,
    }
    this.#targets.set(id, target)
    return target
  }

  #changeSize(target: Target, change: number): void {
    target.size += change
    this.#size += change
  }

  /** Lets the first delivery of an item wait for its time, or for its turn. */
  #plan(target: Target, item: ItemQueue): void {
    const { head } = item
    if (head === undefined || item.isRunning || target.isRemoved) return
    if (head.dueAt > this.#parts.clock.now()) {
      target.ready.delete(item)
      this.#planLater(target, item, head.dueAt)
      return
    }
    target.ready.add(item)
    this.#wait(target)
  }

  #planLater(target: Target, item: ItemQueue, dueAt: number): void {
    if (item.plannedAt === dueAt) return
    item.plannedAt = dueAt
    // Another delivery may be the first by then, and due later or earlier.
    this.#timetable.add(dueAt, () => {
      item.plannedAt = undefined
      this.#plan(target, item)
      this.#start()
    })
  }

  #laneOf({ isSlow }: Target): Lane<Target> {
    return isSlow ? this.#slow : this.#quick
  }

  /** Lets a webhook wait for its turn, if it may and has something to send. */
  #wait(target: Target): void {
    const most = target.isSlow ? 1 : this.#limits.maxPerWebhook
    if (target.isRemoved || target.ready.size === 0 || target.inFlight >= most) return
    if (target.heldUntil > this.#parts.clock.now()) return
    this.#laneOf(target).wait(target)
  }

  #start(): void {
    for (const lane of [this.#quick, this.#slow]) {
      while (!this.#isStopped) {
        const target = lane.next()
        if (target === undefined) break
        if (lane !== this.#laneOf(target)) this.#wait(target)
        else this.#startOne(lane, target)
      }
    }
  }

  #startOne(lane: Lane<Target>, target: Target): void {
    const [item] = target.ready
    const delivery = item?.head
    if (item === undefined || delivery === undefined) return
    target.ready.delete(item)
    item.isRunning = true
    target.inFlight++
    lane.enter(target)
    this.#wait(target)
    const running = this.#run(lane, target, item, delivery).finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  async #run(lane: Lane<Target>, target: Target, item: ItemQueue, delivery: Delivery): Promise<void> {
    const { attempt, clock, onFault } = this.#parts
    let entered = lane
    const cancel = clock.after(this.#limits.quickMs, () => {
      target.isSlow = true
      if (entered === this.#slow) return
      entered.release(target)
      entered = this.#slow
      entered.enter(target)
      this.#start()
    })
    const startedAt = clock.now()
    let verdict: Verdict
    try {
      verdict = await attempt(delivery)
    } catch (error) {
      onFault(error)
      verdict = { succeeded: false, again: { ...delivery, dueAt: clock.now() + faultDelayMs } }
    }
    cancel()
    target.isSlow = !verdict.succeeded || clock.now() - startedAt > this.#limits.quickMs
    entered.release(target)
    target.inFlight--
    this.#settle(target, item, delivery, verdict)
    this.#start()
  }

  #settle(target: Target, item: ItemQueue, delivery: Delivery, { again, holdUntil }: Verdict): void {
    item.isRunning = false
    if (target.isRemoved) return
    if (again !== undefined) item.replace(delivery, again)
    else {
      item.remove(delivery)
      this.#changeSize(target, -1)
    }
    if (item.head === undefined) target.items.delete(item.key)
    if (holdUntil !== undefined && holdUntil > target.heldUntil) this.#hold(target, holdUntil)
    this.#plan(target, item)
    this.#wait(target)
    if (target.size === 0 && !target.isSlow && target.heldUntil === 0) this.#targets.delete(target.id)
  }

  #hold(target: Target, until: number): void {
    target.heldUntil = until
    this.#quick.leave(target)
    this.#slow.leave(target)
    this.#timetable.add(until, () => {
      this.#wait(target)
      this.#start()
    })
  }
}
