/** Long polling: the reply waits for the first event that the caller may see. */

import type { Principal } from '../../../base/principal.ts'
import type { ConnectedClient } from '../../events/credential-monitor.ts'
import type { EventReply } from '../../events/event-reply.ts'
import type { Subscription } from '../../events/hub.ts'
import type { LogPage } from '../../events/log-page.ts'
import type { SubscriptionRequest } from '../../events/subscriber.ts'
import type { EventClient, EventRouteParts } from './parts.ts'

export interface Wait {
  readonly request: SubscriptionRequest
  readonly principal: Principal
  readonly client: EventClient
  readonly after: number
  readonly limit: number
  /** Of all replies together. */
  readonly maxBytes: number
  readonly waitSeconds: number
}

/**
 * Resolves with the first events after `after`, or with none when the time is over, the client disconnects, or the service
 * stops. Throws RATE_LIMITED if the caller has too many open connections. Rejects when the credential ends or the caller's
 * rights no longer suffice.
 */
export function waitForEvents({ events }: EventRouteParts, wait: Wait): Promise<LogPage> {
  const release = events.connectionQuota.take(wait.principal)
  return new Promise<LogPage>((resolve, reject) =>
    new LongPoll(wait, events, resolve, reject).start(),
  ).finally(release)
}

class LongPoll {
  readonly #wait: Wait
  readonly #events: EventRouteParts['events']
  readonly #resolve: (page: LogPage) => void
  readonly #reject: (error: unknown) => void
  readonly #client: ConnectedClient & { principal: Principal }
  readonly #timer: NodeJS.Timeout
  readonly #offGone: () => void
  readonly #replies: string[] = []
  #bytes = 0
  #isFull = false
  #last: number
  #subscription: Subscription | undefined
  #isOver = false

  constructor(
    wait: Wait,
    events: EventRouteParts['events'],
    resolve: (page: LogPage) => void,
    reject: (error: unknown) => void,
  ) {
    this.#wait = wait
    this.#events = events
    this.#resolve = resolve
    this.#reject = reject
    this.#last = wait.after
    this.#client = {
      credential: wait.client.credential,
      address: wait.client.address,
      principal: wait.principal,
      changePrincipal: changed => this.#changePrincipal(changed),
      disconnect: error => this.#fail(error),
    }
    this.#timer = setTimeout(() => this.#finish(), wait.waitSeconds * 1000).unref()
    this.#offGone = wait.client.onGone(() => this.#finish())
  }

  async start(): Promise<void> {
    const { request, principal, after } = this.#wait
    const sink = {
      next: ({ text }: EventReply, event: number) => this.#take(text, event),
      end: (error: unknown) => (error === undefined ? this.#finish() : this.#fail(error)),
    }
    try {
      this.#subscription = await this.#events.hub.subscribe(request, principal, sink, { after })
    } catch (error) {
      return this.#fail(error)
    }
    if (this.#isOver) this.#subscription.close()
    else this.#events.credentials.add(this.#client)
  }

  #changePrincipal(changed: Principal): void {
    this.#client.principal = changed
    this.#subscription?.changePrincipal(changed)
  }

  /** The reply contains all events that arrive in the same turn of the event loop. */
  #take(reply: string, event: number): void {
    if (this.#isOver || this.#isFull) return
    this.#bytes += Buffer.byteLength(reply)
    this.#isFull = this.#replies.length > 0 && this.#bytes > this.#wait.maxBytes
    if (this.#isFull) return void this.#finish()
    this.#last = event
    this.#replies.push(reply)
    this.#isFull = this.#replies.length === this.#wait.limit
    if (this.#isFull) this.#finish()
    else if (this.#replies.length === 1) setImmediate(() => this.#finish())
  }

  #finish(): void {
    if (!this.#end()) return
    const isFull = this.#isFull
    const position = isFull ? this.#last : Math.max(this.#last, this.#subscription?.position ?? 0)
    this.#resolve({ replies: this.#replies, position, hasMore: isFull, scanned: this.#replies.length })
  }

  #fail(error: unknown): void {
    if (this.#end()) this.#reject(error)
  }

  #end(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#offGone()
    this.#events.credentials.remove(this.#client)
    this.#subscription?.close()
    return true
  }
}
