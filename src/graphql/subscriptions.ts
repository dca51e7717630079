/**
 * The log of committed changes → subscribers: the reader reads every event once, the delivery answers it once for
 * each group of those who ask the same with the same rights.
 */
import { ApiError } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { Delivery, type DeliveryParts } from './delivery.ts'
import type { Bound, Engine } from './engine.ts'
import type { Feed } from './feed.ts'
import { Groups } from './groups.ts'
import { LogReader, type LogReaderParts } from './log-reader.ts'
import { Member, type Sink } from './member.ts'
import { Outage } from './outage.ts'
import { refusalOf } from './refusal.ts'

export interface Subscription {
  /** Whose rights count from now on. Ends the subscription when they no longer suffice. */
  as(principal: Principal): void
  close(): void
}

export interface HubParts
  extends Pick<LogReaderParts, 'beforeDelivery'>,
    Pick<DeliveryParts, 'onFault'>,
    Partial<Pick<DeliveryParts, 'patience'>> {
  readonly engine: Engine
  readonly feed: Feed
}

export class Hub {
  readonly #feed: Feed
  readonly #groups: Groups
  readonly #delivery: Delivery
  readonly #reader: LogReader
  #size = 0
  #isClosed = false

  constructor({ engine, feed, beforeDelivery, onFault, patience }: HubParts) {
    this.#feed = feed
    const outage = new Outage(() => feed.last(), onFault)
    const groups = new Groups(engine, onFault)
    const delivery = new Delivery({
      groups,
      outage,
      onFault,
      patience,
      isWanted: () => this.#size > 0,
      end: (member, text) => this.#end(member, text),
    })
    this.#groups = groups
    this.#delivery = delivery
    this.#reader = new LogReader({
      feed,
      outage,
      beforeDelivery,
      deliver: change => delivery.deliver(change),
    })
  }

  get size(): number {
    return this.#size
  }

  /**
   * Every change after this call that `bound` asks for goes to `sink`. Throws when the principal may never see it.
   */
  async subscribe(bound: Bound, principal: Principal, sink: Sink): Promise<Subscription> {
    if (this.#isClosed) throw new ApiError('UNAVAILABLE', 'The service is stopping.')
    // Claims the feed before anything is awaited, so that no commit between goes unseen.
    this.#size++
    const member = new Member(sink)
    try {
      await this.#reader.start()
      this.#groups.join(member, bound, principal)
    } catch (error) {
      this.#release()
      throw error
    }
    try {
      member.settle(await this.#feed.last())
    } catch (error) {
      this.#leave(member)
      throw error
    }
    return {
      as: other => this.#rejoin(member, bound, other),
      close: () => void this.#leave(member),
    }
  }

  /** Ends every subscription; none begins any more. */
  close(): void {
    this.#isClosed = true
    for (const member of this.#groups.members()) this.#end(member, undefined)
  }

  #rejoin(member: Member, bound: Bound, principal: Principal): void {
    if (!this.#groups.leave(member)) return
    try {
      this.#groups.join(member, bound, principal)
      this.#delivery.catchUp(member)
    } catch (error) {
      this.#release()
      member.sink.end(refusalOf(error).text)
    }
  }

  /** Whether it was there. */
  #leave(member: Member): boolean {
    const left = this.#groups.leave(member)
    if (left) this.#release()
    return left
  }

  #end(member: Member, text: string | undefined): void {
    if (this.#leave(member)) member.sink.end(text)
  }

  #release(): void {
    this.#size--
    if (this.#size === 0) this.#reader.stop()
  }
}
