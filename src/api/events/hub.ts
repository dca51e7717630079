/**
 * Connects subscribers to the log of committed changes: one reader per process reads every event once, and the
 * delivery renders it once for each group of subscribers with the same request and the same rights. Subscribers that
 * resume replay what they missed in parallel, and then join the live groups.
 */
import { ApiError, stoppingRefusal } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import { Outage } from '../../engine/log/outage.ts'
import type { ChangeFeed } from '../../engine/plan/change-feed.ts'
import { SendPacer } from './event-reply.ts'
import { FanOut } from './fan-out.ts'
import { SubscriberGroups } from './groups.ts'
import { LogReader, type LogReaderParts } from './log-reader.ts'
import { GroupQuota } from './quota.ts'
import { Rendering } from './rendering.ts'
import { Replays } from './replays.ts'
import { checkResumable } from './resume.ts'
import { type ReplySink, Subscriber, type SubscriptionRequest } from './subscriber.ts'

export interface Subscription {
  /** Every event up to this one was processed, and its reply, if there is one, was sent to the sink. */
  readonly position: number
  /** Replaces the subscriber's rights. Ends the subscription if they no longer suffice. */
  changePrincipal(principal: Principal): void
  close(): void
}

export interface Resume {
  /** The last event that the client has; undefined if it wants only new events. */
  readonly after?: number | undefined
}

export interface HubParts extends Pick<LogReaderParts, 'feed' | 'beforeDelivery'> {
  readonly onFault: (error: unknown) => void
  /** The maximum number of groups in which one caller may have subscribers. */
  readonly maxGroups: number
  /** How long a failed delivery is retried while the database answers other queries. */
  readonly retryLimitMs?: number | undefined
}

export class Hub {
  readonly #feed: ChangeFeed
  readonly #onFault: (error: unknown) => void
  readonly #live: SubscriberGroups
  readonly #replaying: SubscriberGroups
  readonly #fanOut: FanOut
  readonly #reader: LogReader
  readonly #replays: Replays
  #size = 0
  readonly #closing = new AbortController()

  constructor({ feed, beforeDelivery, onFault, maxGroups, retryLimitMs }: HubParts) {
    // A subscriber that has replayed moves from one to the other, and still counts once.
    const quota = new GroupQuota(maxGroups)
    this.#live = new SubscriberGroups(quota)
    this.#replaying = new SubscriberGroups(quota)
    this.#feed = feed
    this.#onFault = onFault
    const hasSubscribers = () => this.#size > 0
    const fail = (subscribers: Iterable<Subscriber>, error: unknown) => this.#fail(subscribers, error)
    const outage = new Outage(() => feed.last(), onFault)
    const rendering = new Rendering({ outage, retryLimitMs, hasSubscribers })
    const pacer = new SendPacer()
    const fanOut = new FanOut({ groups: this.#live, rendering, pacer, fail })
    const reader = new LogReader({
      feed,
      outage,
      beforeDelivery,
      onLoss: error => this.#fail(this.#live.subscribers(), error),
      deliver: change => fanOut.deliver(change),
    })
    this.#fanOut = fanOut
    this.#reader = reader
    this.#replays = new Replays({
      feed,
      outage,
      rendering,
      pacer,
      hasSubscribers,
      fail,
      livePosition: () => reader.position,
      joinLive: subscriber => this.#joinLive(subscriber),
      leaveLive: subscriber => this.#leaveLive(subscriber),
    })
  }

  /** How many subscriptions are open. */
  get size(): number {
    return this.#size
  }

  /**
   * Sends every change that `request` asks for to `sink`, in order and each once: the changes after the event `after`, or
   * those after this call. Throws if the principal may never see what the request asks for, RATE_LIMITED if its caller is in
   * too many other groups, and RESYNC_REQUIRED if the log no longer has all events after `after`.
   */
  async subscribe(
    request: SubscriptionRequest,
    principal: Principal,
    sink: ReplySink,
    { after }: Resume = {},
  ): Promise<Subscription> {
    this.#requireOpen()
    // Counted before anything is awaited: the reader then does not stop, and no commit in between goes unread.
    this.#size++
    const subscriber = new Subscriber(request, principal, sink)
    try {
      await this.#reader.start()
      if (after === undefined) await this.#subscribeLive(subscriber)
      else await this.#resume(subscriber, after)
    } catch (error) {
      if (!this.#leave(subscriber)) this.#release()
      throw error
    }
    const reader = this.#reader
    return {
      get position() {
        return subscriber.isLive ? Math.max(subscriber.position, reader.position) : subscriber.position
      },
      changePrincipal: newPrincipal => this.#changePrincipal(subscriber, newPrincipal),
      close: () => void this.#leave(subscriber),
    }
  }

  /** Aborted when the service stops. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Ends every subscription, and accepts no new ones. */
  close(): void {
    this.#closing.abort()
    this.#end([...this.#live.subscribers(), ...this.#replaying.subscribers()], undefined)
  }

  #requireOpen(): void {
    if (this.closing.aborted) throw stoppingRefusal()
  }

  async #subscribeLive(subscriber: Subscriber): Promise<void> {
    this.#requireOpen()
    subscriber.holdLive()
    this.#live.admit(subscriber)
    subscriber.pass(await this.#feed.last())
    if (!subscriber.isOpen || subscriber.startLive()) return
    this.#leaveLive(subscriber)
    this.#replays.add(subscriber)
  }

  async #resume(subscriber: Subscriber, after: number): Promise<void> {
    checkResumable(after, await this.#feed.bounds())
    this.#requireOpen()
    subscriber.pass(after)
    this.#replaying.admit(subscriber)
    if (this.#reader.position > after) return this.#replays.add(subscriber)
    // Either nothing was missed, or the live reader will read what was missed.
    this.#joinLive(subscriber)
    subscriber.startLive()
  }

  #joinLive(subscriber: Subscriber): void {
    this.#replaying.leave(subscriber)
    subscriber.holdLive()
    if (this.#join(subscriber)) this.#fanOut.catchUp(subscriber)
  }

  #leaveLive(subscriber: Subscriber): void {
    this.#live.leave(subscriber)
    subscriber.leaveLive()
    this.#join(subscriber)
  }

  #changePrincipal(subscriber: Subscriber, principal: Principal): void {
    if (!this.#groupsOf(subscriber).leave(subscriber)) return
    subscriber.principal = principal
    // The held replies were rendered for the former rights.
    if (subscriber.isHeld) subscriber.dropHeld()
    if (this.#join(subscriber) && subscriber.isLive) this.#fanOut.catchUp(subscriber)
  }

  /** Returns false if the subscriber's rights do not suffice: then its subscription has ended. */
  #join(subscriber: Subscriber): boolean {
    try {
      this.#groupsOf(subscriber).join(subscriber)
      return true
    } catch (error) {
      this.#release()
      subscriber.sink.end(error)
      return false
    }
  }

  #groupsOf({ isReplaying }: Subscriber): SubscriberGroups {
    return isReplaying ? this.#replaying : this.#live
  }

  /** Ends the subscriptions of subscribers that missed a change: their clients must learn that something is missing. */
  #fail(subscribers: Iterable<Subscriber>, error: unknown): void {
    const openSubscribers = [...subscribers].filter(({ isOpen }) => isOpen)
    if (openSubscribers.length === 0) return
    if (!(error instanceof ApiError && error.code === 'RESYNC_REQUIRED')) this.#onFault(error)
    this.#end(openSubscribers, error)
  }

  #end(subscribers: readonly Subscriber[], error: unknown): void {
    for (const subscriber of subscribers) if (this.#leave(subscriber)) subscriber.sink.end(error)
  }

  /** Returns whether the subscription was open. */
  #leave(subscriber: Subscriber): boolean {
    const isOpen = this.#groupsOf(subscriber).leave(subscriber)
    if (isOpen) this.#release()
    return isOpen
  }

  #release(): void {
    this.#size--
    if (this.#size === 0) this.#reader.stop()
  }
}
