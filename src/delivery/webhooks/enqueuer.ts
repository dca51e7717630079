/**
 * Creates deliveries from the events of the log. Webhooks that have caught up share one read of the log. A webhook that is
 * new or was paused, or whose queue is full, has a position of its own, and catches up from there.
 */

import { randomBytes } from 'node:crypto'
import type { EpochMs } from '../../base/epoch-ms.ts'
import { ApiError } from '../../base/errors.ts'
import { isLogEnd, maxBatchBytes } from '../../engine/log/log-batch.ts'
import { isTemporary } from '../../engine/log/outage.ts'
import type { ChangeFeed, LoggedChange } from '../../engine/plan/change-feed.ts'
import type { StoredPosition } from '../consumer/position.ts'
import { DeliveryBatch, Turns } from './batch.ts'
import type { Delivery, Webhook } from './delivery.ts'
import { isSubscribed, type WebhookDirectory } from './directory.ts'
import type { PossibleTypes, ShowEvent, WebhookOwners } from './owners.ts'
import { changeWebhook, type NewDelivery, newDelivery, pauseWebhook, storedDelivery } from './plans.ts'
import type { PartialEvent, SenderPosition } from './position.ts'

/** Events per read. */
const batchSize = 200
/** Deliveries and changes of webhooks in one transaction: other writes wait for it. */
const maxSteps = 200
/** The most deliveries of one webhook in the queue, while its attempts succeed and while they fail. */
const maxQueued = { succeeding: 2000, failing: 200 }
/** A webhook that is behind continues when fewer deliveries wait. */
const refillBelow = 100
/** If there is nothing to send, the position is stored after this many events. */
const maxUnstoredEvents = 1000
/** Values of `PartialEvent.user`: for a webhook that is not an app's, and for a complete event. */
const noUser = 0
const allUsers = Number.MAX_SAFE_INTEGER

export interface EnqueuerParts {
  readonly log: ChangeFeed
  readonly position: StoredPosition<SenderPosition>
  readonly directory: WebhookDirectory
  readonly show: ShowEvent
  readonly possibleTypes: PossibleTypes
  readonly owners: Pick<WebhookOwners, 'usersOf' | 'principalOf'>
  /** How many deliveries of a webhook wait, and whether its last attempt failed or was slow. */
  readonly queue: { sizeOf(webhookId: number): number; isSlow(webhookId: number): boolean }
  /** Receives each delivery once it is stored. */
  readonly onEnqueued: (delivery: Delivery) => void
  /** Events for a webhook were pruned before they became deliveries. */
  readonly onGap: (webhook: Webhook, from: number, to: number) => void
  readonly onFault: (error: unknown) => void
  readonly now: () => EpochMs
}

export class Enqueuer {
  readonly #parts: EnqueuerParts
  /** The position up to which the log was read. The stored position may be behind it if there was nothing to send. */
  #position: SenderPosition
  #batch = new DeliveryBatch()
  /** Whether this sender has checked that the log still has the events after the stored position. */
  #isGapChecked = false

  constructor(parts: EnqueuerParts) {
    this.#parts = parts
    this.#position = parts.position.current
  }

  /** The last event that was processed. */
  get event(): number {
    return this.#position.event
  }

  /** Does a part of the work. Returns whether more may be left. */
  async work(): Promise<boolean> {
    // An empty batch is not flushed, and its principals have the rights of an earlier time.
    this.#batch = new DeliveryBatch()
    await this.#finishPartial()
    await this.#stopAtPosition()
    const hasMore = await this.#advance()
    return (await this.#catchUp()) || hasMore
  }

  /** Pauses a webhook at its position. `pausedAt`: ISO 8601 UTC. */
  async pause({ id, position }: Webhook, pausedAt: string, reason: string): Promise<void> {
    const last = position ?? this.#position.event
    await this.#commit([pauseWebhook(id, pausedAt, reason, last)])
    this.#parts.directory.change(id, { isLive: false, position: last })
  }

  /** Finishes the event that a former sender began, even if the webhook was paused meanwhile. */
  async #finishPartial(): Promise<void> {
    const { partial, event } = this.#position
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
    const { partial, event } = this.#position
    for (const { id } of this.#parts.directory.stopping) {
      if (id === partial?.webhook) continue
      this.#batch.positions.set(id, event)
      if (this.#batch.size >= maxSteps) await this.#flush(this.#position)
    }
    if (this.#batch.size > 0) await this.#flush(this.#position)
  }

  async #advance(): Promise<boolean> {
    const { log, directory } = this.#parts
    if (directory.current.length === 0) {
      this.#position = { event: Math.max(this.#position.event, await log.last()), partial: null }
      return false
    }
    const changes = await log.after(this.#position.event, batchSize, maxBatchBytes)
    const isEnd = isLogEnd(changes, batchSize)
    if (!this.#isGapChecked || !isEnd) await this.#reportGap()
    const turns = new Turns()
    for (const change of changes) {
      await this.#fanOut(change, turns)
      this.#position = { event: change.event, partial: null }
      if (this.#batch.size >= maxSteps) await this.#flush(this.#position)
    }
    const isFarAhead = this.#position.event - this.#parts.position.current.event >= maxUnstoredEvents
    if (this.#batch.size > 0 || isFarAhead) await this.#flush(this.#position)
    return !isEnd
  }

  /** Reports events that were pruned before this sender read them. */
  async #reportGap(): Promise<void> {
    const { log, directory, onGap } = this.#parts
    const { event } = this.#position
    const { pruned } = await log.bounds()
    this.#isGapChecked = true
    if (pruned <= event) return
    for (const webhook of directory.current) onGap(webhook, event + 1, pruned)
  }

  /** Creates the deliveries of a change to all webhooks that have caught up. */
  async #fanOut(change: LoggedChange, turns: Turns): Promise<void> {
    const { partial } = this.#position
    const lastWebhookId = partial?.event === change.event ? partial.webhook : 0
    for (const webhook of this.#parts.directory.matching(change)) {
      if (webhook.id <= lastWebhookId) continue
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
      if (position === null || position > this.#position.event) continue
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
    const due = changes.filter(({ event }) => event <= this.#position.event)
    const turns = new Turns()
    let lastEvent = position
    for (const change of due) {
      if (this.#isFull(webhook)) break
      if (directory.mayMatch(webhook, change)) await this.#enqueue(change, webhook, undefined)
      lastEvent = change.event
      this.#batch.positions.set(webhook.id, lastEvent)
      this.#position = { event: this.#position.event, partial: null }
      if (this.#batch.size >= maxSteps) await this.#flush(this.#position)
      await turns.next()
    }
    const hasReadAll = due.length < changes.length || isLogEnd(changes, batchSize)
    const isCaughtUp = hasReadAll && lastEvent === (due.at(-1)?.event ?? position)
    this.#batch.positions.set(webhook.id, isCaughtUp ? null : lastEvent)
    await this.#flush(this.#position)
    return !isCaughtUp && !this.#isFull(webhook)
  }

  /** Creates the deliveries of a change to a webhook: one, or, for an app's webhook, one for each user. */
  async #enqueue(
    change: LoggedChange,
    webhook: Webhook,
    resumeAfter: PartialEvent | undefined,
  ): Promise<void> {
    const users = webhook.appId === null ? [null] : await this.#parts.owners.usersOf(webhook)
    const turns = new Turns()
    for (const userId of users) {
      if (resumeAfter !== undefined && (userId ?? noUser) <= resumeAfter.user) continue
      const delivery = await this.#createDelivery(change, webhook, userId)
      if (delivery !== undefined) this.#batch.deliveries.push(delivery)
      if (this.#batch.size < maxSteps) continue
      await this.#flush({
        event: this.#position.event,
        partial: { event: change.event, webhook: webhook.id, user: userId ?? noUser },
      })
      await turns.next()
    }
  }

  async #createDelivery(
    change: LoggedChange,
    webhook: Webhook,
    userId: number | null,
  ): Promise<NewDelivery | undefined> {
    const type = await this.#visibleType(change, webhook, userId)
    if (type === undefined || !isSubscribed(webhook, change.collection, type)) return undefined
    return {
      webhook_id: webhook.id,
      event_id: String(change.event),
      type,
      collection: change.collection,
      item_id: change.id,
      user_id: userId,
      message_id: newMessageId(),
      due_at: new Date(this.#parts.now()).toISOString(),
    }
  }

  /** The type of the event that the principal may see; undefined if it may see none. */
  async #visibleType(
    change: LoggedChange,
    webhook: Webhook,
    userId: number | null,
  ): Promise<string | undefined> {
    const { owners, show, possibleTypes, onFault } = this.#parts
    const principal = await this.#batch.principal(webhook, userId, () => owners.principalOf(webhook, userId))
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
    const maxDeliveries = queue.isSlow(webhook.id) ? maxQueued.failing : maxQueued.succeeding
    return queue.sizeOf(webhook.id) + this.#batch.countOf(webhook.id) >= maxDeliveries
  }

  async #flush(position: SenderPosition): Promise<void> {
    const { deliveries, positions } = this.#batch
    this.#batch = new DeliveryBatch()
    const steps = [
      ...deliveries.map(newDelivery),
      ...[...positions].map(([id, ownPosition]) => changeWebhook(id, { position: ownPosition })),
    ]
    const ids = await this.#commit(steps, position)
    for (const [id, ownPosition] of positions) this.#parts.directory.change(id, { position: ownPosition })
    for (const [index, delivery] of deliveries.entries()) {
      const id = ids[index]
      if (id !== undefined) this.#parts.onEnqueued(storedDelivery(id, delivery))
    }
  }

  async #commit(
    steps: Parameters<StoredPosition<SenderPosition>['commit']>[0],
    position = this.#position,
  ): Promise<readonly number[]> {
    this.#position = position
    return this.#parts.position.commit(steps, position)
  }
}

/** Globally unique: a receiver may get messages from several services. */
export function newMessageId(): string {
  return `msg_${randomBytes(18).toString('base64url')}`
}

/** Whether the batch is outdated because a webhook or user was deleted meanwhile: then it is prepared again. */
export function isBatchOutdated(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500
}
