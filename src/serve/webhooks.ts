/** The actions of webhooks: `POST /api/v1/webhooks/{id}/{action}`. */
import { enableWebhook, redeliver, rotateSecret, type WebhookActionParts } from '../auth/webhooks/actions.ts'
import type { WebhookSender } from '../events/webhooks/sender.ts'
import type { ItemAction, ItemActions } from '../rest/actions/action.ts'

interface WebhooksParts extends WebhookActionParts {
  readonly sender: WebhookSender
}

const webhooks = 'webhooks'
const deliveries = 'webhook_deliveries'

export function webhookActions(parts: WebhooksParts): ItemActions {
  const { sender } = parts
  const actions: [string, ItemAction][] = [
    [
      'rotate_secret',
      async ({ id }, principal) => {
        const rotated = await rotateSecret(parts, id, principal)
        return {
          serial: [webhooks],
          *steps() {
            const secret = yield* rotated()
            return { collection: webhooks, id, revealed: { secret } }
          },
        }
      },
    ],
    [
      'test',
      async ({ id }) => {
        const sent = await sender.test(id)
        return {
          serial: undefined,
          // biome-ignore lint/correctness/useYield: what it did is not undone
          *steps() {
            return { collection: deliveries, id: sent }
          },
        }
      },
    ],
    [
      'enable',
      async ({ id }, principal) => {
        const enabled = await enableWebhook(parts, id, principal)
        return {
          serial: undefined,
          *steps() {
            yield* enabled()
            return { collection: webhooks, id }
          },
          afterwards: () => sender.wake(id),
        }
      },
    ],
    [
      'redeliver',
      async ({ id, nested = 0 }) => {
        const added = await redeliver(parts, id, nested)
        return {
          serial: undefined,
          *steps() {
            return { collection: deliveries, id: yield* added() }
          },
          afterwards: () => sender.wake(id),
        }
      },
    ],
  ]
  return new Map([[webhooks, new Map(actions)]])
}
