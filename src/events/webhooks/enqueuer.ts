/**
 * Makes deliveries of the log's events. Webhooks that are as far as the sender share one reading of the log; one whose
 * queue is full, that is paused or new has a position of its own, and catches up from there.
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

/** Events that are read at once. */
const batchSize = 200
/** Deliveries and changes of webhooks in one transaction: other writes wait for it. */
const maxSteps = 200
/** Deliveries of one webhook that wait in the queue, while its attempts succeed and while they fail. */
const maxQueued = { succeeding: 2000, failing: 200 }
/** A webhook that is behind goes on when fewer deliveries wait. */
const refillBelow = 100
/** A position at which nothing was to be sent is stored after so many events. */
const storeEvery = 1000
/** In a `PartialEvent`: of a user's own webhook; every user. */
const noUser = 0
const allUsers = Number.MAX_SAFE_INTEGER

export interface EnqueuerParts {
  readonly log: ChangeFeed
  readonly position: Position<Place>
  readonly directory: Directory
  readonly show: Show
  readonly possibleTypes: PossibleTypes
  readonly owners: Pick<WebhookOwners, 'usersOf' | 'principalOf'>
  /** How many deliveries of a webhook wait, and whether its last attempt failed. */
  readonly queue: { sizeOf(webhookId: number): number; isSlow(webhookId: number): boolean }
  /** Takes what is now stored. */
  readonly onEnqueued: (delivery: Delivery) => void
  /** Events that a webhook should have got were pruned before it was enabled again. */
  readonly onGap: (webhook: Webhook, from: number, to: number) => void
  readonly onFault: (error: unknown) => void
  /** In milliseconds since 1970. */
  readonly now: () => number
}

export class Enqueuer {
  readonly #parts: EnqueuerParts
  /** How far the log was read; the stored position may be behind where nothing was to be sent. */
  #read: Place
  #batch = new Batch()
  /** Whether it was looked if what follows the stored position is still kept. */
  #isKept = false

  constructor(parts: EnqueuerParts) {
    this.#parts = parts
    this.#read = parts.position.place
  }

  /** The last event that has become deliveries, or that nobody wanted. */
  get event(): number {
    return this.#read.event
  }

  /** Does a part of what there is to do. Returns whether more may be left. */
  async work(): Promise<boolean> {
    // An empty batch is not flushed, and its principals have the rights of an earlier time.
    this.#batch = new Batch()
    await this.#finishPartial()
    await this.#stopAtPosition()
    const hasMore = await this.#advance()
    return (await this.#catchUp()) || hasMore
  }

  /** Pauses a webhook where it is. `at`: ISO 8601 UTC. */
  async pause({ id, position }: Webhook, at: string, reason: string): Promise<void> {
    const last = position ?? this.#read.event
    await this.#commit([pauseWebhook(id, at, reason, last)])
    this.#parts.directory.change(id, { isLive: false, position: last })
  }

  /** Finishes what a former sender began, also for a webhook that was paused meanwhile: it will not begin again. */
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

  /** Webhooks that are not live any more keep the position up to which they were. */
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

  /** Tells of events that were pruned before this sender came to them. */
  async #noticeGap(): Promise<void> {
    const { log, directory, onGap } = this.#parts
    const { event } = this.#read
    const { pruned } = await log.bounds()
    this.#isKept = true
    if (pruned <= event) return
    for (const webhook of directory.current) onGap(webhook, event + 1, pruned)
  }

  /** Makes the deliveries of a change to all webhooks that are as far as the sender. */
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

  /** Each webhook that is behind does a part of its way. Returns whether some can go on at once. */
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

  /** Makes the deliveries of a change to a webhook: one, or one for each user of an app's. */
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

  /** Undefined: it is not shown. */
  async #shownType(change: LoggedChange, webhook: Webhook, user: number | null): Promise<string | undefined> {
    const { owners, show, possibleTypes, onFault } = this.#parts
    const principal = await this.#batch.principal(webhook, user, () => owners.principalOf(webhook, user))
    if (principal === undefined) return undefined
    try {
      return (await show(change, principal))?.type
    } catch (error) {
      if (isTemporary(error)) throw error
      // One event that cannot be shown must not keep all others: its attempts fail, and are recorded.
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

/** Unique everywhere: a receiver may get messages of several services. */
export function newMessageId(): string {
  return `msg_${randomBytes(18).toString('base64url')}`
}

/** Whether a webhook or a user went while a batch was made of it: the batch is made again. */
export function isOutdated(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500
}
