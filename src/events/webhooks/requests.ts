/** Deliveries that an owner requests. The node that sends finds the request in the database. */
import { ApiError } from '../../errors.ts'
import type { Run } from '../../plan/run.ts'
import { itemShape, readItem } from '../../plan/system-plans.ts'
import type { ProgramStep, StepAnswer } from '../../plan/transaction.ts'
import { system } from '../../principal.ts'
import type { NewRecord, Records } from '../../records.ts'
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

/** Sends a test to a webhook, even if it is paused. Returns the id of the delivery. Throws VALIDATION_FAILED if there is no such webhook. */
export function requestTest(
  run: Pick<Run, 'transaction'>,
  webhookId: number,
  now = Date.now(),
): Promise<number> {
  const createTest = newDelivery({
    webhook_id: webhookId,
    event_id: null,
    type: testType,
    collection: null,
    item_id: null,
    user_id: null,
    message_id: newMessageId(),
    due_at: new Date(now).toISOString(),
  })
  return run.transaction({
    serial: undefined,
    principal: system,
    *steps(): Generator<ProgramStep, number, StepAnswer> {
      const answer = yield createTest
      if (typeof answer !== 'object' || !('id' in answer)) throw new TypeError('a create answers with an id')
      yield { kind: 'put', record: requestRecord(answer.id, now) }
      return answer.id
    },
  })
}

const deliveryShape = itemShape('webhook_deliveries', ['webhook_id', 'status'])

/**
 * Sends a delivery again, with the same `webhook-id`. A pending one is sent at once. Throws NOT_FOUND if the webhook has no
 * such delivery.
 */
export async function requestRedelivery(
  run: Run,
  webhookId: number,
  deliveryId: number,
  now = Date.now(),
): Promise<void> {
  const row = await readItem<{ readonly webhook_id: number; readonly status: string }>(
    run,
    deliveryShape,
    deliveryId,
  )
  if (row?.webhook_id !== webhookId) throw new ApiError('NOT_FOUND')
  const retry = { status: 'pending', due_at: new Date(now).toISOString(), completed_at: null } as const
  const change = changeDelivery(deliveryId, row.status === 'pending' ? retry : { ...retry, attempt: 0 })
  await run.transaction({
    serial: undefined,
    principal: system,
    *steps(): Generator<ProgramStep, void, StepAnswer> {
      yield change
      yield { kind: 'put', record: requestRecord(deliveryId, now) }
    },
  })
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
