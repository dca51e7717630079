/** Pauses webhooks when the credential that created them ends: an API key, or the grant of an access token. */
import { type Awaitable, then } from '../../base/awaitable.ts'
import { intersectScopes, type Scopes, system } from '../../base/principal.ts'
import type { UpdateShape } from '../../engine/plan/plan.ts'
import type { Run } from '../../engine/plan/run.ts'
import {
  itemShape,
  listShape,
  readAll,
  readAllStored,
  readItem,
  readItemStep,
  updateShape,
  where,
} from '../../engine/plan/system-plans.ts'
import type { ProgramSteps } from '../../engine/plan/transaction.ts'
import type { KeyOrigin } from '../keys/origin.ts'
import type { KeyExpiry } from '../keys/user-keys.ts'
import type { AppRights } from '../server/clients/apps.ts'
import type { RightsOfGrant } from '../server/consent/live-grants.ts'
import type { StoredWebhook } from './stored.ts'

export const endedReason =
  'The credential that created this webhook has ended. Enable the webhook with another credential.'

export const disabledReason =
  'The account of the owner was disabled. Once the account is enabled again, enable the webhook.'

interface WebhookGrantParts {
  readonly run: Run
  readonly rightsOfGrant: RightsOfGrant
  readonly now?: () => number
}

interface WebhookKey extends KeyExpiry, Pick<KeyOrigin, 'grant'> {}

const webhookKeyById = itemShape('api_keys', ['user_id', 'expires_at', 'grant'])

type WebhookGrant = Pick<StoredWebhook, 'user_id' | 'scopes' | 'grant'>

/** Of the credential with which a webhook was created. `app`: that has the credential. */
type WebhookRights = Pick<AppRights, 'app' | 'scopes'>

/** The credentials with which webhooks were created. */
export class WebhookGrants {
  readonly #parts: WebhookGrantParts

  constructor(parts: WebhookGrantParts) {
    this.#parts = parts
  }

  /** The current rights of the webhook; undefined if the credential that created it has ended. */
  rightsOf({ user_id: userId, scopes, grant }: WebhookGrant): Awaitable<WebhookRights | undefined> {
    const storedScopes: Scopes = scopes === null ? 'all' : new Set(scopes)
    const [kind, name = ''] = grant?.split(':') ?? []
    if (kind === undefined) return { app: null, scopes: storedScopes }
    const { rightsOfGrant } = this.#parts
    const rights = kind === 'key' ? this.#rightsOfKey(userId, Number(name)) : rightsOfGrant(userId, name)
    return then(
      rights,
      present => present && { app: present.app, scopes: intersectScopes(storedScopes, present.scopes) },
    )
  }

  isLive(webhook: WebhookGrant): Awaitable<boolean> {
    return then(this.rightsOf(webhook), rights => rights !== undefined)
  }

  /** The scopes of a key do not change, so only those that its app has lost matter. */
  #rightsOfKey(userId: number, keyId: number): Awaitable<WebhookRights | undefined> {
    const { run, now = Date.now } = this.#parts
    return then(readItem<WebhookKey>(run, webhookKeyById, keyId), key => {
      if (key?.user_id !== userId) return undefined
      if (key.expires_at !== null && Date.parse(key.expires_at) <= now()) return undefined
      const hash = key.grant?.slice('grant:'.length)
      return hash === undefined
        ? { app: null, scopes: 'all' as const }
        : this.#parts.rightsOfGrant(userId, hash)
    })
  }
}

const webhooksOfGrant = listShape('webhooks', ['id'], where('grant'))
const pause: UpdateShape = {
  ...updateShape('webhooks', ['paused_at', 'pause_reason']),
  eventType: 'webhook.paused',
}

const pausedAtById = itemShape('webhooks', ['paused_at'])

/** Pauses a webhook whose credential has ended, unless it is paused already. */
export function pauseEnded(run: Run, id: number): Promise<void> {
  return pauseWebhook(run, id, endedReason)
}

/**
 * Pauses a webhook, unless it is paused already: of concurrent deliveries that find its credential ended, only one logs the event.
 * `enableWebhook` resumes the webhook where it stopped.
 */
export async function pauseWebhook(run: Run, id: number, reason: string): Promise<void> {
  await run.transaction({
    serial: { writes: ['webhooks'] },
    principal: system,
    *steps(): ProgramSteps<void> {
      const webhook = yield* readItemStep<{ readonly paused_at: string | null }>(pausedAtById, id)
      if (webhook?.paused_at === null) yield { shape: pause, args: [id, new Date().toISOString(), reason] }
    },
  })
}

/** Pauses the webhooks that were created with a grant that has ended. `grant`: see `Principal.grant`. */
export async function endWebhooks(run: Run, grant: string): Promise<void> {
  const webhooks = await readAll<{ readonly id: number }>(run, webhooksOfGrant, grant)
  await Promise.all(webhooks.map(({ id }) => pauseEnded(run, id)))
}

const webhooksOfUser = listShape('webhooks', ['id', 'grant'], where('user_id'))

/**
 * Pauses the webhooks of a user that were created in a browser session. For the recovery of an account: an attacker may have had
 * the session, and these webhooks do not end with a credential.
 */
export async function pauseSessionWebhooks(run: Run, userId: number): Promise<void> {
  const webhooks = await readAllStored<Pick<StoredWebhook, 'id' | 'grant'>>(run, webhooksOfUser, userId)
  await Promise.all(webhooks.filter(({ grant }) => grant === null).map(({ id }) => pauseEnded(run, id)))
}

/** Pauses the webhooks of a disabled account. */
export async function pauseWebhooksOfUser(run: Run, userId: number): Promise<void> {
  const webhooks = await readAll<Pick<StoredWebhook, 'id'>>(run, webhooksOfUser, userId)
  await Promise.all(webhooks.map(({ id }) => pauseWebhook(run, id, disabledReason)))
}
