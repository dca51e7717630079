/** The actions of webhooks: `POST /api/v1/webhooks/{id}/{action}`. */
import { setTimeout } from 'node:timers/promises'
import { type ItemAction, type ItemActions, itemResult } from '../../../api/rest/actions/action.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import { redeliverySteps, testSteps } from '../../../delivery/webhooks/requests.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { itemShape, readItem } from '../../../engine/plan/system-plans.ts'
import {
  enableWebhook,
  requireRedeliverable,
  rotateSecret,
  type WebhookActionParts,
} from '../../../identity/webhooks/actions.ts'
import type { WebhookOperations } from '../../../identity/webhooks/operations.ts'

const webhooks = 'webhooks'
const deliveries = 'webhook_deliveries'

export function webhookActions(parts: WebhookActionParts): ItemActions {
  const { run } = parts
  const rotate: ItemAction = async ({ id }, principal) => {
    const rotation = await rotateSecret(parts, id, principal)
    return {
      serial: { writes: [webhooks] },
      *steps() {
        const secret = yield* rotation()
        return { result: itemResult(webhooks, id), revealed: { secret } }
      },
    }
  }
  const enable: ItemAction = async ({ id }, principal) => {
    const enabling = await enableWebhook(parts, id, principal)
    return {
      serial: undefined,
      *steps() {
        yield* enabling()
        return { result: itemResult(webhooks, id) }
      },
    }
  }
  const test: ItemAction = ({ id }) => {
    let deliveryId = 0
    return {
      serial: undefined,
      *steps() {
        deliveryId = yield* testSteps(id)
        return { result: itemResult(deliveries, deliveryId) }
      },
      // If the wait fails, the delivery is shown as it was stored.
      afterCommit: () => waitForAttempt(run, deliveryId).catch(() => undefined),
    }
  }
  const redeliver: ItemAction = async ({ id, nested = 0 }) => {
    await requireRedeliverable(run, id, nested)
    return {
      serial: undefined,
      *steps() {
        yield* redeliverySteps(id, nested)
        return { result: itemResult(deliveries, nested) }
      },
    }
  }
  return new Map([[webhooks, new Map(Object.entries({ rotate_secret: rotate, enable, test, redeliver }))]])
}

/** The same actions for the account pages. */
export function webhookOperations(run: Run, actions: ItemActions): WebhookOperations {
  const runAction = async (name: string, id: number, principal: Principal, nested?: number) => {
    const action = actions.get(webhooks)?.get(name)
    if (action === undefined) throw new ApiError('NOT_FOUND')
    const { serial, steps, afterCommit } = await action({ id, nested }, principal)
    const result = await run.transaction({ principal, serial, steps })
    await afterCommit?.()
    return result
  }
  return {
    async rotateSecret(id, principal) {
      const { revealed } = await runAction('rotate_secret', id, principal)
      return String(revealed?.secret)
    },
    async enable(id, principal) {
      await runAction('enable', id, principal)
    },
    async test(id, principal) {
      await runAction('test', id, principal)
    },
    async redeliver(id, deliveryId, principal) {
      await runAction('redeliver', id, principal, deliveryId)
    },
  }
}

const statusById = itemShape(deliveries, ['status', 'attempt'])

interface DeliveryState {
  readonly status: string
  readonly attempt: number
}

const pollIntervalMs = 100
/** Five seconds: most endpoints answer within this time. */
const maxPolls = 50

/** Waits up to five seconds for the end of the first attempt. */
async function waitForAttempt(run: Run, id: number): Promise<void> {
  for (let polls = 0; polls < maxPolls; polls++) {
    const delivery = await readItem<DeliveryState>(run, statusById, id)
    if (delivery?.status !== 'pending' || delivery.attempt > 0) return
    await setTimeout(pollIntervalMs)
  }
}
