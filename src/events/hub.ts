/**
 * Connects subscribers to the log of committed changes: one reader per process reads every event once, and the
 * delivery renders it once for each group of subscribers that ask for the same with the same rights.
 */
import { ApiError } from '../errors.ts'
import type { Principal } from '../principal.ts'
import type { ChangeFeed } from './change-feed.ts'
import { Delivery, type DeliveryParts } from './delivery.ts'
import { Groups } from './groups.ts'
import { LogReader, type LogReaderParts } from './log-reader.ts'
import { Outage } from './outage.ts'
import { type ReplySink, Subscriber, type SubscriptionRequest } from './subscriber.ts'

export interface Subscription {
  /** From now on these rights count. Ends the subscription when they no longer suffice. */
  changePrincipal(principal: Principal): void
  close(): void
}

export interface HubParts
  extends Pick<LogReaderParts, 'feed' | 'beforeDelivery'>,
    Pick<DeliveryParts, 'onFault'>,
    Partial<Pick<DeliveryParts, 'retryLimitMs'>> {}

export class Hub {
  readonly #feed: ChangeFeed
  readonly #groups = new Groups()
  readonly #delivery: Delivery
  readonly #reader: LogReader
  #size = 0
  #isClosed = false

  constructor({ feed, beforeDelivery, onFault, retryLimitMs }: HubParts) {
    this.#feed = feed
    const outage = new Outage(() => feed.last(), onFault)
    const delivery = new Delivery({
      groups: this.#groups,
      outage,
      onFault,
      retryLimitMs,
      hasSubscribers: () => this.#size > 0,
      end: (subscriber, error) => this.#end(subscriber, error),
    })
    this.#delivery = delivery
    this.#reader = new LogReader({
      feed,
      outage,
      beforeDelivery,
      deliver: change => delivery.deliver(change),
    })
  }

  /** How many subscriptions are open. */
  get size(): number {
    return this.#size
  }

  /**
   * Sends every change after this call that `request` asks for to `sink`. Throws when the principal may never see it.
   */
  async subscribe(
    request: SubscriptionRequest,
    principal: Principal,
    sink: ReplySink,
  ): Promise<Subscription> {
    if (this.#isClosed) throw new ApiError('UNAVAILABLE', 'The service is stopping.')
    // Counted before anything is awaited: the reader then does not stop, and no commit in between goes unread.
    this.#size++
    const subscriber = new Subscriber(request, sink)
    try {
      await this.#reader.start()
      this.#groups.join(subscriber, principal)
    } catch (error) {
      this.#release()
      throw error
    }
    try {
      subscriber.startAfter(await this.#feed.last())
    } catch (error) {
      this.#leave(subscriber)
      throw error
    }
    return {
      changePrincipal: changed => this.#rejoin(subscriber, changed),
      close: () => void this.#leave(subscriber),
    }
  }

  /** Ends every subscription, and accepts no more. */
  close(): void {
    this.#isClosed = true
    for (const subscriber of this.#groups.subscribers()) this.#end(subscriber, undefined)
  }

  #rejoin(subscriber: Subscriber, principal: Principal): void {
    if (!this.#groups.leave(subscriber)) return
    try {
      this.#groups.join(subscriber, principal)
      this.#delivery.catchUp(subscriber)
    } catch (error) {
      this.#release()
      subscriber.sink.end(error)
    }
  }

  /** Returns whether the subscription was open. */
  #leave(subscriber: Subscriber): boolean {
    const left = this.#groups.leave(subscriber)
    if (left) this.#release()
    return left
  }

  #end(subscriber: Subscriber, error: unknown): void {
    if (this.#leave(subscriber)) subscriber.sink.end(error)
  }

  #release(): void {
    this.#size--
    if (this.#size === 0) this.#reader.stop()
  }
}
