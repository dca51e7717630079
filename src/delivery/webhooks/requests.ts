/** Deliveries that an owner requests. The node that sends finds the request in the database. */
import { ApiError } from '../../base/errors.ts'
import { system } from '../../base/principal.ts'
import type { NewRecord, Records } from '../../base/records.ts'
import type { Run } from '../../engine/plan/run.ts'
import { itemShape, readItemStep } from '../../engine/plan/system-plans.ts'
import { type ProgramSteps, planAs } from '../../engine/plan/transaction.ts'
import type { Delivery } from './delivery.ts'
import { newMessageId } from './enqueuer.ts'
import { changeDelivery, newDelivery, readPendingDelivery } from './plans.ts'

const kind = 'WebhookRequest'
/** A request may expire unread: the next sender reads all pending deliveries anyway. */
const retentionMs = 3_600_000
const pageSize = 100

const testType = 'webhook.test'

function requestRecord(deliveryId: number, now: number): NewRecord {
  return { kind, id: String(deliveryId), payload: '{}', expiresAt: now + retentionMs }
}

/**
 * Steps that send a test to a webhook, even if it is paused. They return the id of the delivery, and throw VALIDATION_FAILED if
 * there is no such webhook.
 */
export function* testSteps(webhookId: number): ProgramSteps<number> {
  const now = Date.now()
  const plan = newDelivery({
    webhook_id: webhookId,
    event_id: null,
    type: testType,
    collection: null,
    item_id: null,
    user_id: null,
    message_id: newMessageId(),
    due_at: new Date(now).toISOString(),
  })
  const answer = yield planAs(system, plan)
  if (typeof answer !== 'object' || !('id' in answer)) throw new TypeError('a create answers with an id')
  yield { kind: 'put', record: requestRecord(answer.id, now) }
  return answer.id
}

const deliveryShape = itemShape('webhook_deliveries', ['webhook_id', 'status'])

interface DeliveryState {
  readonly webhook_id: number
  readonly status: string
}

/**
 * Steps that send a delivery again, with the same `webhook-id`. A pending one is sent at once. They throw NOT_FOUND if the webhook
 * has no such delivery.
 */
export function* redeliverySteps(webhookId: number, deliveryId: number): ProgramSteps<void> {
  const now = Date.now()
  const row = yield* readItemStep<DeliveryState>(deliveryShape, deliveryId)
  if (row?.webhook_id !== webhookId) throw new ApiError('NOT_FOUND')
  const retry = { status: 'pending', due_at: new Date(now).toISOString(), completed_at: null } as const
  const plan = changeDelivery(deliveryId, row.status === 'pending' ? retry : { ...retry, attempt: 0 })
  yield planAs(system, plan)
  yield { kind: 'put', record: requestRecord(deliveryId, now) }
}

/**
 * Passes the requested deliveries that are still pending to `take`, and deletes the requests. `take` returns false to keep
 * a request for the next call.
 */
export async function takeRequests(
  run: Run,
  records: Pick<Records, 'after' | 'delete'>,
  take: (delivery: Delivery) => boolean,
): Promise<void> {
  for (let last = ''; ; ) {
    const page = await records.after(kind, last, pageSize)
    const takenIds: string[] = []
    for (const { id } of page) {
      const delivery = await readPendingDelivery(run, Number(id))
      if (delivery === undefined || take(delivery)) takenIds.push(id)
    }
    await Promise.all(takenIds.map(id => records.delete(kind, id)))
    last = page.at(-1)?.id ?? ''
    if (page.length < pageSize) return
  }
}
