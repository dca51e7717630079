/**
 * Creates deliveries from the events of the log. Webhooks that have caught up share one read of the log. A webhook that is
 * new or was paused, or whose queue is full, has a position of its own, and catches up from there.
 */
import { randomBytes } from 'node:crypto'
import { ApiError } from '../../errors.ts'
import { type ChangeFeed, isLogEnd, type LoggedChange, maxBatchBytes } from '../change-feed.ts'
import type { Position } from '../consumer/position.ts'
import { isTemporary } from '../outage.ts'
import { Batch, Turns } from './batch.ts'
import type { Delivery, Webhook } from './delivery.ts'
import { type Directory, wants } from './directory.ts'
import type { PossibleTypes, Show, WebhookOwners } from './owners.ts'
import type { PartialEvent, Place } from './place.ts'
import { changeWebhook, type NewDelivery, newDelivery, pauseWebhook, storedDelivery } from './plans.ts'

/** Events per read. */
const batchSize = 200
/** Deliveries and changes of webhooks in one transaction: other writes wait for it. */
const maxSteps = 200
/** The most deliveries of one webhook in the queue, while its attempts succeed and while they fail. */
const maxQueued = { succeeding: 2000, failing: 200 }
/** A webhook that is behind continues when fewer deliveries wait. */
const refillBelow = 100
/** If there is nothing to send, the position is stored after this many events. */
const storeEvery = 1000
/** Values of `PartialEvent.user`: for a webhook that is not an app's; for an event that is complete. */
const noUser = 0
const allUsers = Number.MAX_SAFE_INTEGER

export interface EnqueuerParts {
  readonly log: ChangeFeed
  readonly position: Position<Place>
  readonly directory: Directory
  readonly show: Show
  readonly possibleTypes: PossibleTypes
  readonly owners: Pick<WebhookOwners, 'usersOf' | 'principalOf'>
  /** How many deliveries of a webhook wait, and whether its last attempt failed or was slow. */
  readonly queue: { sizeOf(webhookId: number): number; isSlow(webhookId: number): boolean }
  /** Receives each delivery once it is stored. */
  readonly onEnqueued: (delivery: Delivery) => void
  /** Events for a webhook were pruned before they became deliveries. */
  readonly onGap: (webhook: Webhook, from: number, to: number) => void
  readonly onFault: (error: unknown) => void
  /** In milliseconds since 1970. */
  readonly now: () => number
}

export class Enqueuer {
  readonly #parts: EnqueuerParts
  /** How far the log was read. The stored position may be behind if there was nothing to send. */
  #read: Place
  #batch = new Batch()
  /** Whether it was checked that the events after the stored position are still kept. */
  #isKept = false

  constructor(parts: EnqueuerParts) {
    this.#parts = parts
    this.#read = parts.position.place
  }

  /** The last event that was processed. */
  get event(): number {
    return this.#read.event
  }

  /** Does a part of the work. Returns whether more may be left. */
  async work(): Promise<boolean> {
    // An empty batch is not flushed, and its principals have the rights of an earlier time.
    this.#batch = new Batch()
    await this.#finishPartial()
    await this.#stopAtPosition()
    const hasMore = await this.#advance()
    return (await this.#catchUp()) || hasMore
  }

  /** Pauses a webhook at its position. `at`: ISO 8601 UTC. */
  async pause({ id, position }: Webhook, at: string, reason: string): Promise<void> {
    const last = position ?? this.#read.event
    await this.#commit([pauseWebhook(id, at, reason, last)])
    this.#parts.directory.change(id, { isLive: false, position: last })
  }

  /** Finishes the event that a former sender began, also for a webhook that was paused meanwhile. */
  async #finishPartial(): Promise<void> {
    const { partial, event } = this.#read
    if (partial === null || partial.user === allUsers) return
    const { directory, log } = this.#parts
    const webhook = directory.get(partial.webhook)
    const [change] = await log.after(partial.event - 1, 1)
    const isCatchingUp = partial.event <= event
    if (webhook !== undefined && change?.event === partial.event) {
      await this.#enqueue(change, webhook, partial)
      if (isCatchingUp) this.#batch.positions.set(webhook.id, change.event)
    }
    await this.#flush({ event, partial: isCatchingUp ? null : { ...partial, user: allUsers } })
  }

  /** Stores the position of webhooks that are no longer live. */
  async #stopAtPosition(): Promise<void> {
    const { partial, event } = this.#read
    for (const { id } of this.#parts.directory.stopping) {
      if (id === partial?.webhook) continue
      this.#batch.positions.set(id, event)
      if (this.#batch.size >= maxSteps) await this.#flush(this.#read)
    }
    if (this.#batch.size > 0) await this.#flush(this.#read)
  }

  async #advance(): Promise<boolean> {
    const { log, directory } = this.#parts
    if (directory.current.length === 0) {
      this.#read = { event: Math.max(this.#read.event, await log.last()), partial: null }
      return false
    }
    const changes = await log.after(this.#read.event, batchSize, maxBatchBytes)
    const isEnd = isLogEnd(changes, batchSize)
    if (!this.#isKept || !isEnd) await this.#noticeGap()
    const turns = new Turns()
    for (const change of changes) {
      await this.#fanOut(change, turns)
      this.#read = { event: change.event, partial: null }
      if (this.#batch.size >= maxSteps) await this.#flush(this.#read)
    }
    const isFar = this.#read.event - this.#parts.position.place.event >= storeEvery
    if (this.#batch.size > 0 || isFar) await this.#flush(this.#read)
    return !isEnd
  }

  /** Reports events that were pruned before this sender read them. */
  async #noticeGap(): Promise<void> {
    const { log, directory, onGap } = this.#parts
    const { event } = this.#read
    const { pruned } = await log.bounds()
    this.#isKept = true
    if (pruned <= event) return
    for (const webhook of directory.current) onGap(webhook, event + 1, pruned)
  }

  /** Creates the deliveries of a change to all webhooks that have caught up. */
  async #fanOut(change: LoggedChange, turns: Turns): Promise<void> {
    const { partial } = this.#read
    const done = partial?.event === change.event ? partial.webhook : 0
    for (const webhook of this.#parts.directory.wanting(change)) {
      if (webhook.id <= done) continue
      if (this.#batch.positions.has(webhook.id)) continue
      if (this.#isFull(webhook)) this.#batch.positions.set(webhook.id, change.event - 1)
      else await this.#enqueue(change, webhook, undefined)
      await turns.next()
    }
  }

  /** Advances each webhook that is behind by a batch. Returns whether one can continue at once. */
  async #catchUp(): Promise<boolean> {
    let hasMore = false
    for (const webhook of this.#parts.directory.behind) {
      const { id, position } = webhook
      if (position === null || position > this.#read.event) continue
      if (this.#parts.queue.sizeOf(id) >= refillBelow) continue
      hasMore = (await this.#catchUpOne(webhook, position)) || hasMore
    }
    return hasMore
  }

  async #catchUpOne(webhook: Webhook, position: number): Promise<boolean> {
    const { log, directory, onGap } = this.#parts
    const changes = await log.after(position, batchSize, maxBatchBytes)
    const { pruned } = await log.bounds()
    if (pruned > position) onGap(webhook, position + 1, pruned)
    const due = changes.filter(({ event }) => event <= this.#read.event)
    const turns = new Turns()
    let done = position
    for (const change of due) {
      if (this.#isFull(webhook)) break
      if (directory.mayWant(webhook, change)) await this.#enqueue(change, webhook, undefined)
      done = change.event
      this.#batch.positions.set(webhook.id, done)
      this.#read = { event: this.#read.event, partial: null }
      if (this.#batch.size >= maxSteps) await this.#flush(this.#read)
      await turns.next()
    }
    const hasAll = due.length < changes.length || isLogEnd(changes, batchSize)
    const isThere = hasAll && done === (due.at(-1)?.event ?? position)
    this.#batch.positions.set(webhook.id, isThere ? null : done)
    await this.#flush(this.#read)
    return !isThere && !this.#isFull(webhook)
  }

  /** Creates the deliveries of a change to a webhook: one, or, for an app's webhook, one for each user. */
  async #enqueue(change: LoggedChange, webhook: Webhook, from: PartialEvent | undefined): Promise<void> {
    const users = webhook.appId === null ? [null] : await this.#parts.owners.usersOf(webhook)
    const turns = new Turns()
    for (const user of users) {
      if (from !== undefined && (user ?? noUser) <= from.user) continue
      const delivery = await this.#deliveryOf(change, webhook, user)
      if (delivery !== undefined) this.#batch.deliveries.push(delivery)
      if (this.#batch.size < maxSteps) continue
      await this.#flush({
        event: this.#read.event,
        partial: { event: change.event, webhook: webhook.id, user: user ?? noUser },
      })
      await turns.next()
    }
  }

  async #deliveryOf(
    change: LoggedChange,
    webhook: Webhook,
    user: number | null,
  ): Promise<NewDelivery | undefined> {
    const type = await this.#shownType(change, webhook, user)
    if (type === undefined || !wants(webhook, change.collection, type)) return undefined
    return {
      webhook_id: webhook.id,
      event_id: String(change.event),
      type,
      collection: change.collection,
      item_id: change.id,
      user_id: user,
      message_id: newMessageId(),
      due_at: new Date(this.#parts.now()).toISOString(),
    }
  }

  /** The type that is shown to the principal; undefined if nothing is. */
  async #shownType(change: LoggedChange, webhook: Webhook, user: number | null): Promise<string | undefined> {
    const { owners, show, possibleTypes, onFault } = this.#parts
    const principal = await this.#batch.principal(webhook, user, () => owners.principalOf(webhook, user))
    if (principal === undefined) return undefined
    try {
      return (await show(change, principal))?.type
    } catch (error) {
      if (isTemporary(error)) throw error
      // An event that cannot be shown must not block the others: its attempts fail, and are recorded.
      onFault(error)
      return possibleTypes(change)[0]
    }
  }

  #isFull(webhook: Webhook): boolean {
    const { queue } = this.#parts
    const most = queue.isSlow(webhook.id) ? maxQueued.failing : maxQueued.succeeding
    return queue.sizeOf(webhook.id) + this.#batch.countOf(webhook.id) >= most
  }

  async #flush(place: Place): Promise<void> {
    const { deliveries, positions } = this.#batch
    this.#batch = new Batch()
    const steps = [
      ...deliveries.map(newDelivery),
      ...[...positions].map(([id, position]) => changeWebhook(id, { position })),
    ]
    const ids = await this.#commit(steps, place)
    for (const [id, position] of positions) this.#parts.directory.change(id, { position })
    for (const [index, delivery] of deliveries.entries()) {
      const id = ids[index]
      if (id !== undefined) this.#parts.onEnqueued(storedDelivery(id, delivery))
    }
  }

  async #commit(
    steps: Parameters<Position<Place>['commit']>[0],
    place = this.#read,
  ): Promise<readonly number[]> {
    this.#read = place
    return this.#parts.position.commit(steps, place)
  }
}

/** Globally unique: a receiver may get messages from several services. */
export function newMessageId(): string {
  return `msg_${randomBytes(18).toString('base64url')}`
}

/** Whether a webhook or user was deleted while a batch was prepared: the batch is prepared again. */
export function isOutdated(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500
}
