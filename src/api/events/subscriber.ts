/** A subscriber: its request, where its replies go, and which replies it already has. */
import type { Awaitable } from '../../base/awaitable.ts'
import type { Principal } from '../../base/principal.ts'
import type { ChangeKind, LoggedChange } from '../../engine/plan/change-feed.ts'
import type { EventReply } from './event-reply.ts'

/** A request for changes, made by a transport. */
export interface SubscriptionRequest {
  /** Equal only for requests that ask for the same changes and the same replies. */
  readonly key: string
  /** Throws if the principal may never see what the request asks for. */
  rendererFor(principal: Principal): ChangeRenderer
}

/** Changes of one kind in one collection. */
export interface Topic {
  readonly collection: string
  readonly kind: ChangeKind
}

/** Makes the replies of one request for one principal. */
export interface ChangeRenderer {
  /** `render` is called only for changes of these topics. */
  readonly topics: readonly Topic[]
  /**
   * The reply for one change, as the principal may see it now; null if the principal may not see the item. Principals with
   * the same answer to the same guarded plan get the same reply, which is rendered once.
   */
  render(change: LoggedChange): Awaitable<string | null>
}

/** Where a subscriber's replies go. */
export interface ReplySink {
  /** `event`: the number of the change in the log. */
  next(reply: EventReply, event: number): void
  /** Undefined if the client keeps up. Otherwise resolves when it does: a replay waits for that, live replies do not. */
  keptUp?(): Promise<void> | undefined
  /** The subscription has ended: with an error, or, if undefined, because the service stops. */
  end(error: unknown): void
}

/** The subscribers with the same request and the same rights. */
export interface SubscriberGroup {
  readonly key: string
  readonly renderer: ChangeRenderer
  readonly members: Set<Subscriber>
}

export function hasTopicFor({ topics }: ChangeRenderer, { collection, kind }: LoggedChange): boolean {
  return topics.some(topic => topic.collection === collection && topic.kind === kind)
}

/** The most live replies that are held for one subscriber while it is sent the earlier ones. */
const maxHeldReplies = 256
const maxHeldCharacters = 32_768

export class Subscriber {
  readonly request: SubscriptionRequest
  readonly sink: ReplySink
  principal: Principal
  /** Undefined when the subscription has ended. */
  group: SubscriberGroup | undefined
  /** `held`: live replies wait until the subscriber has what came before them. */
  #state: 'replaying' | 'held' | 'live' = 'replaying'
  /** Every event up to this one was processed, and its reply sent. */
  #position = 0
  #held: { readonly event: number; readonly reply: EventReply }[] = []
  #heldCharacters = 0
  /** Whether live replies were dropped from `#held`. */
  #isIncomplete = false

  constructor(request: SubscriptionRequest, principal: Principal, sink: ReplySink) {
    this.request = request
    this.principal = principal
    this.sink = sink
  }

  /** Replays take turns by caller. */
  get caller(): string {
    return this.principal.budgetKey
  }

  get isOpen(): boolean {
    return this.group !== undefined
  }

  /** Whether it is in a replaying group, not a live one. */
  get isReplaying(): boolean {
    return this.#state === 'replaying'
  }

  get isHeld(): boolean {
    return this.#state === 'held'
  }

  get isLive(): boolean {
    return this.#state === 'live'
  }

  get position(): number {
    return this.#position
  }

  /** Sends a live reply, or holds it. */
  send(event: number, reply: EventReply): void {
    if (this.#state === 'live') return void this.sendNow(event, reply)
    if (this.#isIncomplete) return
    this.#heldCharacters += reply.text.length
    this.#held.push({ event, reply })
    if (this.#held.length > maxHeldReplies || this.#heldCharacters > maxHeldCharacters) this.dropHeld()
  }

  /** Sends the reply for an event, unless the subscriber already has it. */
  sendNow(event: number, reply: EventReply): void {
    if (event <= this.#position) return
    this.#position = event
    this.sink.next(reply, event)
  }

  /** Every event up to `event` was processed. */
  pass(event: number): void {
    this.#position = Math.max(event, this.#position)
  }

  /** Holds live replies until `startLive`. */
  holdLive(): void {
    this.#state = 'held'
    this.#held = []
    this.#heldCharacters = 0
    this.#isIncomplete = false
  }

  dropHeld(): void {
    this.#held = []
    this.#isIncomplete = true
  }

  /**
   * Sends the held replies, and later live replies at once. Returns false if some were dropped: then the log must be read
   * from `position`.
   */
  startLive(): boolean {
    if (this.#isIncomplete) return false
    this.#state = 'live'
    for (const { event, reply } of this.#held.splice(0)) if (this.isOpen) this.sendNow(event, reply)
    return true
  }

  /** Returns to replaying: no more live replies come. */
  leaveLive(): void {
    this.#state = 'replaying'
    this.dropHeld()
  }
}
