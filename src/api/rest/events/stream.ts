/** Events as server-sent events. */
import type { Reply } from '../../../base/call.ts'
import type { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { Release } from '../../../base/quota.ts'
import type { ConnectedClient } from '../../events/credential-monitor.ts'
import type { EventReply } from '../../events/event-reply.ts'
import { commentBlock, EventStream } from '../../events/event-stream.ts'
import type { Subscription } from '../../events/hub.ts'
import type { ReplySink, SubscriptionRequest } from '../../events/subscriber.ts'
import { isResync, positionBlock, resyncBlock, streamHeaders } from './form.ts'
import type { EventClient, EventRouteParts } from './parts.ts'

interface StreamRequest {
  readonly request: SubscriptionRequest
  readonly principal: Principal
  readonly client: EventClient
  /** Undefined: only new events. */
  readonly after: number | undefined
}

/**
 * Opens a stream of events. Throws RATE_LIMITED if the caller has too many open connections, and the errors of
 * `hub.subscribe`, except RESYNC_REQUIRED, which ends the stream.
 */
export async function streamEvents(parts: EventRouteParts, request: StreamRequest): Promise<Reply> {
  const listener = new StreamListener(parts, request)
  await listener.open()
  return { ...listener.stream.reply, headers: streamHeaders }
}

class StreamListener implements ConnectedClient, ReplySink {
  readonly stream: EventStream
  readonly credential: ConnectedClient['credential']
  readonly address: string
  principal: Principal
  readonly #parts: EventRouteParts
  readonly #request: StreamRequest
  readonly #releaseConnection: Release
  #subscription: Subscription | undefined
  /** The last id that was sent to the client. */
  #sent = 0
  #isOver = false

  /** Throws RATE_LIMITED. */
  constructor(parts: EventRouteParts, streamRequest: StreamRequest) {
    const { client, principal } = streamRequest
    this.#parts = parts
    this.#request = streamRequest
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
    const { request, principal, after } = this.#request
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

  next({ chunk }: EventReply, event: number): void {
    this.#sent = event
    this.stream.send(chunk)
  }

  keptUp(): Promise<void> | undefined {
    return this.stream.keptUp()
  }

  end(error: unknown): void {
    this.#end(error).catch(() => this.stream.end(commentBlock))
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
    if (!isResync(error)) return this.stream.end(commentBlock)
    const { drawn } = await this.#parts.feed.bounds()
    this.stream.end(resyncBlock(error, drawn))
  }

  #leave(): void {
    this.#isOver = true
    this.#releaseConnection()
    this.#parts.events.credentials.remove(this)
    this.#subscription?.close()
  }

  /** Moves the client's position past events that it may not see, so that the id from which it resumes is not pruned. */
  #passed(): string {
    const position = this.#subscription?.position ?? 0
    if (position <= this.#sent) return commentBlock
    this.#sent = position
    return positionBlock(position)
  }
}
