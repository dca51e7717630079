/** Delivers one change at a time: renders a reply for each group that subscribes to it, and sends it to the members. */
import type { LoggedChange } from './change-feed.ts'
import type { Groups } from './groups.ts'
import type { Rendering } from './rendering.ts'
import { type Group, isWaitedFor, type Subscriber } from './subscriber.ts'

/** After this long, a delivery to many groups lets the event loop do other work. */
const maxBlockingMs = 5

export interface DeliveryParts {
  readonly groups: Groups
  readonly rendering: Rendering
  /** Ends subscriptions that missed a change: their clients must learn that something is missing. */
  readonly fail: (subscribers: Iterable<Subscriber>, error: unknown) => void
}

export class Delivery {
  readonly #parts: DeliveryParts
  #change: LoggedChange | undefined
  /** Deliveries of the current change to groups that a subscriber has joined meanwhile. */
  #late: Promise<void>[] = []

  constructor(parts: DeliveryParts) {
    this.#parts = parts
  }

  /** Returns undefined if every reply was rendered synchronously. */
  deliver(change: LoggedChange): Promise<void> | undefined {
    this.#change = change
    const groups = this.#parts.groups.of(change)
    const pending: Promise<void>[] = []
    const next = this.#deliverSlice(groups, 0, change, pending)
    if (next < groups.length) return this.#deliverRest(groups, next, change, pending)
    if (pending.length > 0 || this.#late.length > 0) return this.#finish(pending)
    this.#change = undefined
    return undefined
  }

  /** Returns the index of the group to continue with. */
  #deliverSlice(
    groups: readonly Group[],
    from: number,
    change: LoggedChange,
    pending: Promise<void>[],
  ): number {
    const until = performance.now() + maxBlockingMs
    for (let at = from; at < groups.length; at++) {
      const group = groups[at]
      const later = group && group.members.size > 0 ? this.#deliverTo(group, change) : undefined
      if (later) pending.push(later)
      if (performance.now() >= until) return at + 1
    }
    return groups.length
  }

  async #deliverRest(
    groups: readonly Group[],
    from: number,
    change: LoggedChange,
    pending: Promise<void>[],
  ): Promise<void> {
    for (let at = from; at < groups.length; ) {
      await new Promise(resolve => setImmediate(resolve))
      at = this.#deliverSlice(groups, at, change, pending)
    }
    await this.#finish(pending)
  }

  /** A subscriber that joins a group may miss the change that is being delivered, so the group gets it again. */
  catchUp({ group }: Subscriber): void {
    const change = this.#change
    if (!group || !change || !isWaitedFor(change, group)) return
    const later = this.#deliverTo(group, change)
    if (later) this.#late.push(later)
  }

  async #finish(pending: readonly Promise<void>[]): Promise<void> {
    await Promise.all(pending)
    while (this.#late.length > 0) await Promise.all(this.#late.splice(0))
    this.#change = undefined
  }

  #deliverTo(group: Group, change: LoggedChange): Promise<void> | undefined {
    const { rendering, fail } = this.#parts
    try {
      const reply = rendering.render(group, change)
      if (!(reply instanceof Promise)) return void send(group, change, reply)
      return reply.then(
        later => send(group, change, later),
        error => fail([...group.members], error),
      )
    } catch (error) {
      fail([...group.members], error)
      return undefined
    }
  }
}

/** `reply`: null where the members may not see the item. */
function send({ members }: Group, { event }: LoggedChange, reply: string | null): void {
  if (reply === null) return
  for (const subscriber of members) subscriber.send(event, reply)
}
