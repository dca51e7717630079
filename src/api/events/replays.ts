/**
 * Sends subscribers what they missed: reads the log in batches, with turns for callers, until a subscriber has everything
 * that the live reader has delivered. Then the subscriber joins the live groups at exactly that event.
 */

import { maxBatchBytes } from '../../engine/log/log-batch.ts'
import { isTemporary, type Outage } from '../../engine/log/outage.ts'
import type { ChangeFeed, LoggedChange } from '../../engine/plan/change-feed.ts'
import { EventReply, type SendPacer } from './event-reply.ts'
import type { Rendering } from './rendering.ts'
import { type Replay, ReplayQueue } from './replay-queue.ts'
import { checkResumable } from './resume.ts'
import { hasTopicFor, type Subscriber, type SubscriberGroup } from './subscriber.ts'

/** Batches end at multiples of this, where replays that began at different events meet. */
const batchSize = 256
/** Changes of a batch that are rendered in parallel. */
const sliceSize = 16
/** Batches that are read and rendered in parallel, for all callers together. */
const maxConcurrentTurns = 2
/** The longest time for which a replay blocks the event loop. */
const maxBlockingMs = 5

export interface ReplayParts {
  readonly feed: ChangeFeed
  readonly outage: Outage
  readonly rendering: Rendering
  readonly pacer: SendPacer
  readonly hasSubscribers: () => boolean
  /** The last event that the live reader has delivered. */
  readonly livePosition: () => number
  /** Moves the subscriber to the live groups, where replies are held until `startLive`. */
  readonly joinLive: (subscriber: Subscriber) => void
  readonly leaveLive: (subscriber: Subscriber) => void
  /** Ends subscriptions that can never get what they missed. */
  readonly fail: (subscribers: Iterable<Subscriber>, error: unknown) => void
}

interface ReplayBatch {
  readonly changes: readonly LoggedChange[]
  /** Everything up to this event is in `changes`. */
  readonly until: number
}

export class Replays {
  readonly #parts: ReplayParts
  readonly #queue = new ReplayQueue()
  #turns = 0

  constructor(parts: ReplayParts) {
    this.#parts = parts
  }

  /** Sends the subscriber the changes after its position. */
  add(subscriber: Subscriber): void {
    this.#queue.add(subscriber)
    this.#next()
  }

  #next(): void {
    if (this.#turns >= maxConcurrentTurns || this.#queue.isEmpty) return
    this.#turns++
    setImmediate(async () => {
      const replay = this.#queue.take()
      if (replay && [...replay.members].some(member => member.isOpen)) await this.#turn(replay)
      this.#turns--
      this.#next()
    })
  }

  async #turn({ position, members }: Replay): Promise<void> {
    const { livePosition, joinLive, outage, hasSubscribers, fail } = this.#parts
    try {
      const batch = await this.#read(position)
      if (livePosition() <= batch.until) {
        for (const member of members) if (member.isOpen) joinLive(member)
      }
      await new BatchDelivery(this.#parts, members, subscriber => this.add(subscriber)).deliver(batch.changes)
      for (const member of members) if (member.isOpen) this.#proceed(member, batch.until)
    } catch (error) {
      if (!isTemporary(error)) return void fail(members, error)
      outage.report(error)
      await outage.untilOver(hasSubscribers)
      for (const member of members) if (member.isOpen) this.add(member)
    }
  }

  async #read(position: number): Promise<ReplayBatch> {
    const { feed } = this.#parts
    const logged = await feed.after(position, batchSize, maxBatchBytes)
    if (logged[0]?.event !== position + 1) checkResumable(position, await feed.bounds())
    const end = position - (position % batchSize) + batchSize
    const changes = logged.filter(({ event }) => event <= end)
    const isTruncated = changes.length < logged.length
    return { changes, until: isTruncated ? end : (changes.at(-1)?.event ?? position) }
  }

  #proceed(member: Subscriber, until: number): void {
    member.pass(until)
    if (member.isHeld && member.startLive()) return
    if (member.isHeld) this.#parts.leaveLive(member)
    this.add(member)
  }
}

/** Sends one batch to the members of one replay. */
class BatchDelivery {
  readonly #parts: ReplayParts
  readonly #members: Set<Subscriber>
  readonly #resume: (subscriber: Subscriber) => void
  #blockedSince = performance.now()

  /** A member whose client is slow leaves `members`; `resume` is called once the client keeps up. */
  constructor(parts: ReplayParts, members: Set<Subscriber>, resume: (subscriber: Subscriber) => void) {
    this.#parts = parts
    this.#members = members
    this.#resume = resume
  }

  async deliver(changes: readonly LoggedChange[]): Promise<void> {
    for (let start = 0; start < changes.length && this.#members.size > 0; start += sliceSize) {
      await this.#deliverSlice(changes.slice(start, start + sliceSize))
    }
  }

  /** Members that change their group meanwhile get the slice rendered for their new rights. */
  async #deliverSlice(slice: readonly LoggedChange[]): Promise<void> {
    const pending = new Set(this.#members)
    while (pending.size > 0) {
      for (const [group, waiting] of byGroup(pending)) {
        for (const member of await this.#deliverTo(group, waiting, slice)) pending.delete(member)
        await this.#yield()
      }
      for (const member of pending) if (!member.isOpen) pending.delete(member)
    }
  }

  /** Returns the members that are done with the slice. */
  async #deliverTo(
    group: SubscriberGroup,
    members: readonly Subscriber[],
    slice: readonly LoggedChange[],
  ): Promise<readonly Subscriber[]> {
    const { rendering, fail } = this.#parts
    const relevant = slice.filter(change => hasTopicFor(group.renderer, change))
    try {
      const texts = await Promise.all(relevant.map(async change => rendering.render(group, change)))
      const replies = texts.map(text => (text === null ? null : new EventReply(text)))
      for (const member of members) await this.#send(member, group, relevant, replies)
    } catch (error) {
      fail(
        members.filter(member => member.group === group),
        error,
      )
    }
    return members.filter(member => member.group === group || !member.isOpen)
  }

  /** Stops if the member changes its group. */
  async #send(
    member: Subscriber,
    group: SubscriberGroup,
    changes: readonly LoggedChange[],
    replies: readonly (EventReply | null)[],
  ): Promise<void> {
    for (const [index, { event }] of changes.entries()) {
      const reply = replies[index]
      if (!reply) continue
      if (this.#parts.pacer.take(reply)) await this.#parts.pacer.wait(reply)
      if (member.group !== group) return
      member.sendNow(event, reply)
      const keptUp = member.sink.keptUp?.()
      if (keptUp && member.isOpen) return this.#setAside(member, keptUp)
    }
  }

  /** Removes a slow member, so that the others need not wait for it. */
  #setAside(member: Subscriber, keptUp: Promise<void>): void {
    this.#members.delete(member)
    if (member.isHeld) this.#parts.leaveLive(member)
    keptUp.then(() => {
      if (member.isOpen) this.#resume(member)
    })
  }

  async #yield(): Promise<void> {
    if (performance.now() - this.#blockedSince < maxBlockingMs) return
    await new Promise(resolve => setImmediate(resolve))
    this.#blockedSince = performance.now()
  }
}

function byGroup(subscribers: Iterable<Subscriber>): Map<SubscriberGroup, Subscriber[]> {
  const groups = new Map<SubscriberGroup, Subscriber[]>()
  for (const subscriber of subscribers) {
    const { group } = subscriber
    if (!group) continue
    const members = groups.get(group)
    if (members) members.push(subscriber)
    else groups.set(group, [subscriber])
  }
  return groups
}
