/** Delivers one change at a time: renders a reply for each group that subscribes to it, and sends it to the members. */
import type { LoggedChange } from '../../engine/plan/change-feed.ts'
import { EventReply, type SendPacer } from './event-reply.ts'
import type { SubscriberGroups } from './groups.ts'
import type { Rendering } from './rendering.ts'
import { hasTopicFor, type Subscriber, type SubscriberGroup } from './subscriber.ts'

/** The longest time for which rendering for many groups blocks the event loop. */
const maxBlockingMs = 5

export interface FanOutParts {
  readonly groups: SubscriberGroups
  readonly rendering: Rendering
  readonly pacer: SendPacer
  /** Ends subscriptions that missed a change: their clients must learn that something is missing. */
  readonly fail: (subscribers: Iterable<Subscriber>, error: unknown) => void
}

export class FanOut {
  readonly #parts: FanOutParts
  #change: LoggedChange | undefined
  /** Deliveries of the current change to groups that a subscriber has joined during the delivery. */
  #catchUps: Promise<void>[] = []

  constructor(parts: FanOutParts) {
    this.#parts = parts
  }

  /** Returns undefined if every reply was rendered and sent synchronously. */
  deliver(change: LoggedChange): Promise<void> | undefined {
    this.#change = change
    const groups = this.#parts.groups.of(change)
    const pending: Promise<void>[] = []
    const next = this.#deliverSlice(groups, 0, change, pending)
    if (next < groups.length) return this.#deliverRest(groups, next, change, pending)
    if (pending.length > 0 || this.#catchUps.length > 0) return this.#finish(pending)
    this.#change = undefined
    return undefined
  }

  /** Returns the index of the group to continue with. */
  #deliverSlice(
    groups: readonly SubscriberGroup[],
    from: number,
    change: LoggedChange,
    pending: Promise<void>[],
  ): number {
    const deadline = performance.now() + maxBlockingMs
    for (let index = from; index < groups.length; index++) {
      const group = groups[index]
      const pendingReply = group && group.members.size > 0 ? this.#deliverTo(group, change) : undefined
      if (pendingReply) pending.push(pendingReply)
      if (performance.now() >= deadline) return index + 1
    }
    return groups.length
  }

  async #deliverRest(
    groups: readonly SubscriberGroup[],
    from: number,
    change: LoggedChange,
    pending: Promise<void>[],
  ): Promise<void> {
    for (let index = from; index < groups.length; ) {
      await new Promise(resolve => setImmediate(resolve))
      index = this.#deliverSlice(groups, index, change, pending)
    }
    await this.#finish(pending)
  }

  /** A subscriber that joins a group may miss the change that is being delivered, so the group gets it again. */
  catchUp({ group }: Subscriber): void {
    const change = this.#change
    if (!group || !change || !hasTopicFor(group.renderer, change)) return
    const pendingReply = this.#deliverTo(group, change)
    if (pendingReply) this.#catchUps.push(pendingReply)
  }

  async #finish(pending: readonly Promise<void>[]): Promise<void> {
    await Promise.all(pending)
    while (this.#catchUps.length > 0) await Promise.all(this.#catchUps.splice(0))
    this.#change = undefined
  }

  #deliverTo(group: SubscriberGroup, change: LoggedChange): Promise<void> | undefined {
    const { rendering, fail } = this.#parts
    try {
      const reply = rendering.render(group, change)
      if (!(reply instanceof Promise)) return this.#send(group, change, reply)
      return reply.then(
        rendered => this.#send(group, change, rendered),
        error => fail([...group.members], error),
      )
    } catch (error) {
      fail([...group.members], error)
      return undefined
    }
  }

  /** `text`: null where the members may not see the item. */
  #send(group: SubscriberGroup, { event }: LoggedChange, text: string | null): Promise<void> | undefined {
    if (text === null) return undefined
    const reply = new EventReply(text)
    let sent = 0
    for (const subscriber of group.members) {
      if (this.#parts.pacer.take(reply))
        return this.#sendRest(group, [...group.members].slice(sent), event, reply)
      subscriber.send(event, reply)
      sent++
    }
    return undefined
  }

  /** Members that join meanwhile get the change by `catchUp`. */
  async #sendRest(
    group: SubscriberGroup,
    rest: readonly Subscriber[],
    event: number,
    reply: EventReply,
  ): Promise<void> {
    for (const subscriber of rest) {
      await this.#parts.pacer.wait(reply)
      if (subscriber.group === group) subscriber.send(event, reply)
    }
  }
}
