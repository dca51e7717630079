/** One subscriber: what it asks for, where its replies go, and which replies it already has. */

import type { Awaitable } from '../plan/answer.ts'
import type { Principal } from '../principal.ts'
import type { ChangeKind, ItemChange } from './change-feed.ts'

/** What a subscriber asks for, in the terms of its transport. */
export interface SubscriptionRequest {
  /** Equal only for requests that ask for the same changes and the same replies. */
  readonly key: string
  /** Throws when the principal may never see what the request asks for. */
  rendererFor(principal: Principal): ChangeRenderer
}

/** Makes the replies of one request for one principal. */
export interface ChangeRenderer {
  readonly collection: string
  readonly kind: ChangeKind
  /**
   * The reply for one change, as the principal may see it now; null when the principal may not see the item.
   * Principals for whom the same guarded plan gives the same answer get the same reply, which is rendered once.
   */
  render(change: ItemChange): Awaitable<string | null>
}

/** Where a subscriber's replies go. */
export interface ReplySink {
  /** `event`: the number of the change in the log. */
  next(reply: string, event: number): void
  /** The subscription has ended: with an error, or (undefined) because the service stops. */
  end(error: unknown): void
}

/** The subscribers that ask for the same with the same rights. */
export interface Group {
  readonly key: string
  /** Which changes its members wait for (`topicOf`). */
  readonly topic: string
  readonly renderer: ChangeRenderer
  readonly members: Set<Subscriber>
}

export class Subscriber {
  readonly request: SubscriptionRequest
  readonly sink: ReplySink
  group: Group | undefined
  /** The last event before the subscription, or the last one sent. Undefined until the log has answered. */
  #lastEvent: number | undefined
  /** Replies that came before the log answered. */
  #early: { readonly event: number; readonly reply: string }[] = []

  constructor(request: SubscriptionRequest, sink: ReplySink) {
    this.request = request
    this.sink = sink
  }

  /** Sends the reply for an event, unless the subscriber already has one. */
  send(event: number, reply: string): void {
    if (this.#lastEvent === undefined) this.#early.push({ event, reply })
    else if (event > this.#lastEvent) {
      this.#lastEvent = event
      this.sink.next(reply, event)
    }
  }

  /** Starts after `lastEvent`, with the replies that came early. */
  startAfter(lastEvent: number): void {
    this.#lastEvent = lastEvent
    for (const { event, reply } of this.#early.splice(0)) if (this.group) this.send(event, reply)
  }
}
