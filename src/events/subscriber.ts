/** One subscriber: what it asks for, where its replies go, and which replies it already has. */

import type { Awaitable } from '../plan/answer.ts'
import type { Principal } from '../principal.ts'
import type { ChangeKind, LoggedChange } from './change-feed.ts'

/** What a subscriber asks for, in the terms of its transport. */
export interface SubscriptionRequest {
  /** Equal only for requests that ask for the same changes and the same replies. */
  readonly key: string
  /** Throws when the principal may never see what the request asks for. */
  rendererFor(principal: Principal): ChangeRenderer
}

/** Changes of one kind in one collection. */
export interface Topic {
  readonly collection: string
  readonly kind: ChangeKind
}

/** Makes the replies of one request for one principal. */
export interface ChangeRenderer {
  /** `render` is called for changes of these, and no others. */
  readonly topics: readonly Topic[]
  /**
   * The reply for one change, as the principal may see it now; null when the principal may not see the item.
   * Principals for whom the same guarded plan gives the same answer get the same reply, which is rendered once.
   */
  render(change: LoggedChange): Awaitable<string | null>
}

/** Where a subscriber's replies go. */
export interface ReplySink {
  /** `event`: the number of the change in the log. */
  next(reply: string, event: number): void
  /** Undefined where the client keeps up. Otherwise resolves when it does; a replay waits for that, live replies do not. */
  keptUp?(): Promise<void> | undefined
  /** The subscription has ended: with an error, or (undefined) because the service stops. */
  end(error: unknown): void
}

/** The subscribers that ask for the same with the same rights. */
export interface Group {
  readonly key: string
  readonly renderer: ChangeRenderer
  readonly members: Set<Subscriber>
}

export function isWaitedFor({ collection, kind }: Topic, { renderer }: Group): boolean {
  return renderer.topics.some(topic => topic.collection === collection && topic.kind === kind)
}

/** Live replies that may wait for one subscriber while it is sent what came before them. */
const maxHeldReplies = 256
const maxHeldCharacters = 32_768

export class Subscriber {
  readonly request: SubscriptionRequest
  readonly sink: ReplySink
  principal: Principal
  /** Undefined when the subscription has ended. */
  group: Group | undefined
  /** `held`: live replies wait until the subscriber has what came before them. */
  #state: 'replaying' | 'held' | 'live' = 'replaying'
  /** Everything up to this event was looked at, and its reply sent. */
  #position = 0
  #held: { readonly event: number; readonly reply: string }[] = []
  #heldCharacters = 0
  /** Whether live replies are missing in `#held`. */
  #isIncomplete = false

  constructor(request: SubscriptionRequest, principal: Principal, sink: ReplySink) {
    this.request = request
    this.principal = principal
    this.sink = sink
  }

  /** Callers that replay are served in turn. */
  get caller(): string {
    return this.principal.budgetKey
  }

  get isOpen(): boolean {
    return this.group !== undefined
  }

  /** Whether it is not in the live groups. */
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

  /** A live reply. */
  send(event: number, reply: string): void {
    if (this.#state === 'live') return void this.sendNow(event, reply)
    if (this.#isIncomplete) return
    this.#heldCharacters += reply.length
    this.#held.push({ event, reply })
    if (this.#held.length > maxHeldReplies || this.#heldCharacters > maxHeldCharacters) this.dropHeld()
  }

  /** Sends the reply for an event, unless the subscriber already has it. */
  sendNow(event: number, reply: string): void {
    if (event <= this.#position) return
    this.#position = event
    this.sink.next(reply, event)
  }

  /** Everything up to `event` was looked at. */
  pass(event: number): void {
    this.#position = Math.max(event, this.#position)
  }

  /** From now on live replies wait for `startLive`. */
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
   * Sends the live replies that waited, and from now on sends them at once. Returns false where some are missing: then
   * the log must be read from `position`.
   */
  startLive(): boolean {
    if (this.#isIncomplete) return false
    this.#state = 'live'
    for (const { event, reply } of this.#held.splice(0)) if (this.isOpen) this.sendNow(event, reply)
    return true
  }

  /** No live replies come any more. */
  leaveLive(): void {
    this.#state = 'replaying'
    this.dropHeld()
  }
}
