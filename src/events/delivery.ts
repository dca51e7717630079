/** Delivers one change at a time: renders a reply for each group that waits for it, and sends it to the members. */

import type { ItemChange, LoggedChange } from './change-feed.ts'
import { type Groups, topicOf } from './groups.ts'
import { isTemporary, type Outage } from './outage.ts'
import type { Group, Subscriber } from './subscriber.ts'

const defaultRetryLimitMs = 10_000

export interface DeliveryParts {
  readonly groups: Groups
  readonly outage: Outage
  readonly onFault: (error: unknown) => void
  /** How long a failed delivery is retried while the database answers other questions. */
  readonly retryLimitMs: number | undefined
  readonly hasSubscribers: () => boolean
  /** Ends a subscription with an error. */
  readonly end: (subscriber: Subscriber, error: unknown) => void
}

export class Delivery {
  readonly #parts: DeliveryParts
  #change: LoggedChange | undefined
  /** Deliveries of the current change to subscribers that have changed their group meanwhile. */
  #late: Promise<void>[] = []

  constructor(parts: DeliveryParts) {
    this.#parts = parts
  }

  /** Returns undefined when every reply could be rendered at once. */
  deliver(change: LoggedChange): Promise<void> | undefined {
    this.#change = change
    const pending: Promise<void>[] = []
    for (const group of this.#parts.groups.of(topicOf(change))) {
      const later = this.#deliverTo(group, change)
      if (later) pending.push(later)
    }
    if (pending.length > 0 || this.#late.length > 0) return this.#finish(pending)
    this.#change = undefined
    return undefined
  }

  /** A subscriber that changes its group misses the change on its way to the old group: the new one gets it too. */
  catchUp({ group }: Subscriber): void {
    const change = this.#change
    if (!group || !change || group.topic !== topicOf(change)) return
    const later = this.#deliverTo(group, change)
    if (later) this.#late.push(later)
  }

  async #finish(pending: readonly Promise<void>[]): Promise<void> {
    await Promise.all(pending)
    while (this.#late.length > 0) await Promise.all(this.#late.splice(0))
    this.#change = undefined
  }

  #deliverTo(group: Group, change: ItemChange): Promise<void> | undefined {
    try {
      const reply = group.renderer.render(change)
      if (!(reply instanceof Promise)) return void send(group, change, reply)
      return reply.then(
        later => send(group, change, later),
        error => this.#retry(group, change, error),
      )
    } catch (error) {
      return this.#retry(group, change, error)
    }
  }

  /** Waits for the database without a limit: subscribers miss nothing by waiting. */
  async #retry(group: Group, change: ItemChange, cause: unknown): Promise<void> {
    const { outage, retryLimitMs = defaultRetryLimitMs, hasSubscribers } = this.#parts
    let error = cause
    let until = Number.POSITIVE_INFINITY
    while (isTemporary(error) && performance.now() < until) {
      outage.report(error)
      await outage.untilOver(hasSubscribers)
      if (group.members.size === 0) return
      until = Math.min(until, performance.now() + retryLimitMs)
      try {
        return send(group, change, await group.renderer.render(change))
      } catch (again) {
        error = again
      }
    }
    this.#fail(group, error)
  }

  /** A subscriber that missed a change must not believe that nothing happened. */
  #fail({ members }: Group, error: unknown): void {
    const { onFault, end } = this.#parts
    onFault(error)
    for (const subscriber of [...members]) end(subscriber, error)
  }
}

/** `reply`: null where the members may not see the item. */
function send({ members }: Group, { event }: ItemChange, reply: string | null): void {
  if (reply === null) return
  for (const subscriber of members) subscriber.send(event, reply)
}
