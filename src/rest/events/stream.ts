/** Events as server-sent events. */
import type { Reply } from '../../call.ts'
import type { ApiError } from '../../errors.ts'
import type { ConnectedClient } from '../../events/credential-monitor.ts'
import { EventStream } from '../../events/event-stream.ts'
import type { Subscription } from '../../events/hub.ts'
import type { Release } from '../../events/quota.ts'
import type { ReplySink, SubscriptionRequest } from '../../events/subscriber.ts'
import type { Principal } from '../../principal.ts'
import { comment, isResync, positionBlock, resyncBlock, streamHeaders } from './form.ts'
import type { EventClient, EventsParts } from './parts.ts'

interface Listening {
  readonly request: SubscriptionRequest
  readonly principal: Principal
  readonly client: EventClient
  /** Undefined: from now on. */
  readonly after: number | undefined
}

/**
 * Opens a stream of events. Throws RATE_LIMITED where too many connections of the caller are open, and what
 * `hub.subscribe` throws; an id that cannot be resumed from ends the stream instead.
 */
export async function streamEvents(parts: EventsParts, listening: Listening): Promise<Reply> {
  const listener = new StreamListener(parts, listening)
  await listener.open()
  return { ...listener.stream.reply, headers: streamHeaders }
}

class StreamListener implements ConnectedClient, ReplySink {
  readonly stream: EventStream
  readonly credential: ConnectedClient['credential']
  readonly address: string
  principal: Principal
  readonly #parts: EventsParts
  readonly #listening: Listening
  readonly #releaseConnection: Release
  #subscription: Subscription | undefined
  /** The last id that the reader was sent. */
  #sent = 0
  #isOver = false

  /** Throws RATE_LIMITED. */
  constructor(parts: EventsParts, listening: Listening) {
    const { client, principal } = listening
    this.#parts = parts
    this.#listening = listening
    this.credential = client.credential
    this.address = client.address
    this.principal = principal
    this.#releaseConnection = parts.events.connectionQuota.take(principal)
    this.stream = new EventStream(
      parts.maxBufferedBytes,
      () => this.#leave(),
      () => this.#passed(),
    )
  }

  async open(): Promise<void> {
    const { hub, credentials } = this.#parts.events
    const { request, principal, after } = this.#listening
    try {
      this.#subscription = await hub.subscribe(request, principal, this, { after })
    } catch (error) {
      await this.#end(error)
      if (isResync(error)) return
      throw error
    }
    if (this.#isOver) return this.#subscription.close()
    credentials.add(this)
    this.stream.send(this.#passed())
  }

  next(block: string, event: number): void {
    this.#sent = event
    this.stream.send(block)
  }

  keptUp(): Promise<void> | undefined {
    return this.stream.keptUp()
  }

  end(error: unknown): void {
    this.#end(error).catch(() => this.stream.end(comment))
  }

  changePrincipal(principal: Principal): void {
    this.principal = principal
    this.#subscription?.changePrincipal(principal)
  }

  disconnect(error: ApiError): void {
    this.end(error)
  }

  async #end(error: unknown): Promise<void> {
    this.#leave()
    if (!isResync(error)) return this.stream.end(comment)
    const { drawn } = await this.#parts.feed.bounds()
    this.stream.end(resyncBlock(error, drawn))
  }

  #leave(): void {
    this.#isOver = true
    this.#releaseConnection()
    this.#parts.events.credentials.remove(this)
    this.#subscription?.close()
  }

  /** Moves the reader's position over events that it was not shown: what it resumes from must not be pruned meanwhile. */
  #passed(): string {
    const position = this.#subscription?.position ?? 0
    if (position <= this.#sent) return comment
    this.#sent = position
    return positionBlock(position)
  }
}
