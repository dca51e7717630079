/** The actions of webhooks, each as the steps of one transaction. */

import { type Awaitable, then } from '../../base/awaitable.ts'
import { ApiError } from '../../base/errors.ts'
import { type Principal, system } from '../../base/principal.ts'
import { requireRecentSignIn } from '../../engine/plan/recent-sign-in.ts'
import type { Run } from '../../engine/plan/run.ts'
import { itemShape, readItem, readItemStep, updateShape } from '../../engine/plan/system-plans.ts'
import { type ProgramSteps, planAs } from '../../engine/plan/transaction.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { WebhookGrants } from './grants.ts'
import type { WebhookSecrets } from './secrets.ts'
import { webhookById } from './stored.ts'
import { requireAllScopes, requireLasting } from './write-rules.ts'

export interface WebhookActionParts {
  readonly run: Run
  readonly secrets: WebhookSecrets
  readonly grants: WebhookGrants
}

const versionById = itemShape('webhooks', ['secret_version'])
const setVersion = updateShape('webhooks', ['secret_version'])

/** Returns steps that replace the secret and return the new one. Their transaction must be serializable. */
export function rotateSecret(
  { secrets }: WebhookActionParts,
  id: number,
  principal: Principal,
): Awaitable<() => ProgramSteps<string>> {
  requireRecentSignIn(principal)
  const { userId } = principal
  return then(secrets.rotation(id, userId ?? 0), ({ secret, replaces, record }) => {
    return function* steps() {
      const stored = yield* readItemStep<{ readonly secret_version: number }>(versionById, id)
      if (stored?.secret_version !== replaces) {
        throw new ApiError('CONFLICT', 'The secret was replaced concurrently. Try again.')
      }
      yield planAs(system, { shape: setVersion, args: [id, replaces + 1] })
      yield { kind: 'put', record }
      return secret
    }
  })
}

const enabledState = { enabled: true, paused_at: null, pause_reason: null, failing_since: null }
const enable = updateShape('webhooks', Object.keys(enabledState))
const enabledValues: readonly JsonValue[] = Object.values(enabledState)
const setGrant = updateShape('webhooks', ['grant'])

/**
 * Returns steps that let a webhook send again. If its credential has ended, it continues with the caller's, which must have all
 * scopes of the webhook.
 */
export async function enableWebhook(
  { run, grants }: WebhookActionParts,
  id: number,
  principal: Principal,
): Promise<() => ProgramSteps<void>> {
  requireRecentSignIn(principal)
  const webhook = await webhookById(run, id)
  if (webhook === undefined) throw new ApiError('NOT_FOUND')
  const isLive = await grants.isLive(webhook)
  if (!isLive) {
    requireAllScopes(webhook, principal)
    requireLasting(principal)
  }
  return function* steps() {
    if (!isLive) yield planAs(system, { shape: setGrant, args: [id, principal.grant] })
    yield planAs(system, { shape: enable, args: [id, ...enabledValues] })
  }
}

const stateById = itemShape('webhooks', ['enabled', 'paused_at'])
const deliveryById = itemShape('webhook_deliveries', ['event_id'])

interface WebhookState {
  readonly enabled: boolean
  readonly paused_at: string | null
}

/** Throws CONFLICT if the delivery cannot be sent again. */
export async function requireRedeliverable(run: Run, id: number, deliveryId: number): Promise<void> {
  const state = await readItem<WebhookState>(run, stateById, id)
  const delivery = await readItem<{ readonly event_id: string | null }>(run, deliveryById, deliveryId)
  if (state === undefined || delivery === undefined) throw new ApiError('NOT_FOUND')
  if (!state.enabled || state.paused_at !== null) {
    throw new ApiError('CONFLICT', 'The webhook is disabled or paused. Enable it first.')
  }
  if (delivery.event_id === null) {
    throw new ApiError('CONFLICT', 'This delivery was a test, not an event. Send another test instead.')
  }
}
