/** Records the outcome of attempts, and decides what is retried and which webhooks are paused. */
import type { EpochMs } from '../../base/epoch-ms.ts'
import { ApiError } from '../../base/errors.ts'
import { system } from '../../base/principal.ts'
import type { Plan, WriteShape } from '../../engine/plan/plan.ts'
import type { Run } from '../../engine/plan/run.ts'
import type { Verdict } from '../consumer/scheduler.ts'
import type { DeliveryOutcome } from './attempt.ts'
import type { Delivery, Webhook } from './delivery.ts'
import type { WebhookDirectory } from './directory.ts'
import type { PauseReason } from './owners.ts'
import { changeDelivery, changeWebhook, type DeliveryChange } from './plans.ts'
import { failingPeriodMs, maxRetryAfterMs, retryAt } from './schedule.ts'

/** Counts of attempts by outcome. */
export interface AttemptCounts {
  succeeded: number
  /** Failed, and will be retried. */
  retried: number
  /** Failed for good. */
  failed: number
  dropped: number
}

export interface DeliveryResultsParts {
  readonly run: Pick<Run, 'write'>
  readonly directory: Pick<WebhookDirectory, 'change' | 'get'>
  /** Called once the failed attempt is recorded. */
  readonly pause: (webhook: Webhook, reason: PauseReason) => void
  /** Called when a delivery is complete, whatever its outcome. */
  readonly onCompleted: (webhookId: number) => void
  readonly counts: AttemptCounts
  readonly now: () => EpochMs
  /** From 0 to below 1. */
  readonly random: () => number
}

const goneStatus = 410

export class DeliveryResults {
  readonly #parts: DeliveryResultsParts

  constructor(parts: DeliveryResultsParts) {
    this.#parts = parts
  }

  /** Records an attempt. Rejects during a database outage: then the attempt does not count. */
  async settle(delivery: Delivery, webhook: Webhook, outcome: DeliveryOutcome): Promise<Verdict<Delivery>> {
    const attempt = delivery.attempts + (outcome.kind === 'dropped' ? 0 : 1)
    if (outcome.kind === 'dropped') return this.#complete(delivery, 'dropped', { error: outcome.error })
    const change: DeliveryChange = {
      attempt,
      duration_ms: outcome.durationMs,
      error: outcome.error,
      response_status: outcome.kind === 'answered' ? outcome.status : null,
      response_excerpt: outcome.kind === 'answered' ? outcome.excerpt : null,
    }
    if (outcome.error === null) return this.#succeed(delivery, webhook, change)
    return this.#fail({ ...delivery, attempts: attempt }, webhook, outcome, change)
  }

  async #succeed(delivery: Delivery, webhook: Webhook, change: DeliveryChange): Promise<Verdict<Delivery>> {
    const verdict = await this.#complete(delivery, 'succeeded', change)
    await this.#setFailing(webhook, null)
    return verdict
  }

  async #fail(
    delivery: Delivery,
    webhook: Webhook,
    outcome: Exclude<DeliveryOutcome, { kind: 'dropped' }>,
    change: DeliveryChange,
  ): Promise<Verdict<Delivery>> {
    // A test is attempted once, and its failure does not count for the webhook.
    if (delivery.event === null) return this.#complete(delivery, 'failed', change)
    const now = this.#parts.now()
    const isGone = outcome.kind === 'answered' && outcome.status === goneStatus
    const retryAfterMs = outcome.kind === 'answered' ? outcome.retryAfterMs : undefined
    const random = this.#parts.random()
    const dueAt = isGone ? undefined : retryAt({ failures: delivery.attempts, now, retryAfterMs, random })
    const holdUntil = retryAfterMs === undefined ? undefined : now + Math.min(retryAfterMs, maxRetryAfterMs)
    const verdict =
      dueAt === undefined
        ? await this.#complete(delivery, 'failed', change)
        : await this.#retry({ ...delivery, dueAt }, change)
    await this.#pauseIfNeeded(webhook, isGone, now)
    return { ...verdict, holdUntil }
  }

  /** Pauses a webhook that is gone or has failed for too long. */
  async #pauseIfNeeded({ id }: Webhook, isGone: boolean, now: number): Promise<void> {
    const webhook = this.#parts.directory.get(id)
    if (webhook === undefined || !webhook.isLive) return
    if (isGone) return this.#parts.pause(webhook, 'gone')
    if (webhook.failingSince === null) return this.#setFailing(webhook, now)
    if (now - webhook.failingSince >= failingPeriodMs) this.#parts.pause(webhook, 'failing')
  }

  async #retry(retry: Delivery, change: DeliveryChange): Promise<Verdict<Delivery>> {
    this.#parts.counts.retried++
    const due_at = new Date(retry.dueAt).toISOString()
    const exists = await this.#write(changeDelivery(retry.id, { ...change, due_at }))
    return { succeeded: false, retry: exists ? retry : undefined }
  }

  async #complete(
    { id, webhookId }: Delivery,
    status: 'succeeded' | 'failed' | 'dropped',
    change: DeliveryChange,
  ): Promise<Verdict<Delivery>> {
    const completed_at = new Date(this.#parts.now()).toISOString()
    await this.#write(changeDelivery(id, { ...change, status, due_at: null, completed_at }))
    this.#parts.counts[status]++
    this.#parts.onCompleted(webhookId)
    return { succeeded: status !== 'failed', retry: undefined }
  }

  async #setFailing({ id }: Webhook, since: number | null): Promise<void> {
    const { directory } = this.#parts
    if ((directory.get(id)?.failingSince ?? null) === since) return
    directory.change(id, { failingSince: since })
    const failing_since = since === null ? null : new Date(since).toISOString()
    await this.#write(changeWebhook(id, { failing_since }))
  }

  /** Returns whether the item still exists: deleting a webhook deletes its deliveries. */
  async #write(plan: Plan<WriteShape>): Promise<boolean> {
    try {
      await this.#parts.run.write(plan, system)
      return true
    } catch (error) {
      if (error instanceof ApiError && error.code === 'NOT_FOUND') return false
      throw error
    }
  }
}
