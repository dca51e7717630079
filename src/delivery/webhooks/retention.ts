/** Deletes old completed deliveries, and the oldest ones of a webhook that has very many, a few at a time. */
import type { EpochMs } from '../../base/epoch-ms.ts'
import { Pause } from '../../base/pause.ts'
import { system } from '../../base/principal.ts'
import { totalOrder } from '../../engine/plan/order.ts'
import type { ListShape, Plan, WriteShape } from '../../engine/plan/plan.ts'
import type { Run } from '../../engine/plan/run.ts'
import { listShape, selected } from '../../engine/plan/system-plans.ts'
import { removeDelivery } from './plans.ts'

const dayMs = 86_400_000
const retentionMs = 30 * dayMs
/** Completed deliveries that are kept per webhook. */
const maxPerWebhook = 1000
/** The deliveries of a webhook are trimmed each time it has completed this many more. */
const trimThreshold = 200
const stepSize = 100
/** The pause between two rounds over all deliveries. */
const roundIntervalMs = 3_600_000

interface CompletedRow {
  readonly id: number
  readonly created_at: string
  readonly completed_at: string | null
}

const [afterParam, limitParam] = [0, 1]

/** Arguments: the id before, the limit. */
const oldest: ListShape = {
  ...listShape('webhook_deliveries', []),
  window: { kind: 'cursor', after: [afterParam], limit: limitParam },
  select: selected(['id', 'created_at', 'completed_at']),
}

/** The completed deliveries of a webhook, newest first. Arguments: the offset, the limit, the webhook, false. */
const completedOfWebhook: ListShape = {
  ...listShape('webhook_deliveries', ['id', 'created_at', 'completed_at'], {
    kind: 'and',
    parts: [
      { kind: 'compare', field: 'webhook_id', operator: 'eq', param: 2 },
      { kind: 'compare', field: 'completed_at', operator: 'null', param: 3 },
    ],
  }),
  sort: totalOrder([{ field: 'id', descending: true }]),
}

interface RetentionParts {
  readonly run: Pick<Run, 'list' | 'transaction'>
  readonly now: () => EpochMs
}

export class DeliveryRetention {
  readonly #parts: RetentionParts
  readonly #completedSinceTrim = new Map<number, number>()
  readonly #webhooksToTrim = new Set<number>()
  #lastId = 0
  readonly #pause = new Pause()

  constructor(parts: RetentionParts) {
    this.#parts = parts
  }

  onCompleted(webhookId: number): void {
    const count = (this.#completedSinceTrim.get(webhookId) ?? 0) + 1
    this.#completedSinceTrim.set(webhookId, count % trimThreshold)
    if (count >= trimThreshold) this.#webhooksToTrim.add(webhookId)
  }

  /** Deletes a few deliveries. */
  async step(): Promise<void> {
    await this.#removeOld()
    const [webhookId] = this.#webhooksToTrim
    if (webhookId === undefined) return
    const rows = await this.#read(completedOfWebhook, [maxPerWebhook, stepSize, webhookId, false])
    if (rows.length < stepSize) this.#webhooksToTrim.delete(webhookId)
    await this.#remove(rows)
  }

  async #removeOld(): Promise<void> {
    const now = this.#parts.now()
    if (!this.#pause.isOver(now)) return
    const rows = await this.#read(oldest, [this.#lastId, stepSize])
    const before = new Date(now - retentionMs).toISOString()
    await this.#remove(rows.filter(({ completed_at }) => completed_at !== null && completed_at < before))
    const last = rows.at(-1)
    // Ids grow with time: the deliveries that follow are newer.
    if (last !== undefined && rows.length === stepSize && last.created_at < before) this.#lastId = last.id
    else {
      this.#lastId = 0
      this.#pause.begin(now, roundIntervalMs)
    }
  }

  async #read(shape: ListShape, args: Plan['args']): Promise<readonly CompletedRow[]> {
    const { text } = await this.#parts.run.list({ shape, args }, system)
    return JSON.parse(text ?? '[]')
  }

  async #remove(rows: readonly CompletedRow[]): Promise<void> {
    if (rows.length === 0) return
    const plans = rows.map(({ id }): Plan<WriteShape> => removeDelivery(id))
    await this.#parts.run.transaction({
      serial: undefined,
      principal: system,
      *steps() {
        for (const plan of plans) yield plan
      },
    })
  }
}
