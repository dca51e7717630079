/** Pauses webhooks when the credential that created them ends: an API key, or the grant of an access token. */
import { type Awaitable, then } from '../../plan/answer.ts'
import type { UpdateShape } from '../../plan/plan.ts'
import type { Run } from '../../plan/run.ts'
import {
  itemShape,
  listShape,
  readAll,
  readAllStored,
  readItem,
  readItemStep,
  updateShape,
  where,
} from '../../plan/system-plans.ts'
import type { ProgramSteps } from '../../plan/transaction.ts'
import { commonScopes, type Scopes, system } from '../../principal.ts'
import { forwarding, type Records } from '../../records.ts'
import { type KeyExpiry, keyExpiryById } from '../keys/user-keys.ts'
import type { AppRights } from '../server/clients/apps.ts'
import { storedGrant } from '../server/consent/stored-grant.ts'
import { grantHash } from '../server/tokens/deny-list.ts'
import type { StoredWebhook } from './stored.ts'

export const endedReason =
  'The credential that created this webhook has ended. Enable the webhook with another credential.'

export const disabledReason =
  'The account of the owner was disabled. Once the account is enabled again, enable the webhook.'

interface GrantParts {
  readonly run: Run
  readonly records: Records
  readonly rightsOfApp: (clientId: string) => Awaitable<AppRights | undefined>
  readonly now?: () => number
}

type WebhookGrant = Pick<StoredWebhook, 'user_id' | 'scopes' | 'grant'>

/** The credentials with which webhooks were created. */
export class WebhookGrants {
  readonly #parts: GrantParts

  constructor(parts: GrantParts) {
    this.#parts = parts
  }

  /** The current scopes of the webhook; undefined if the credential that created it has ended. */
  scopesOf({ user_id: userId, scopes, grant }: WebhookGrant): Awaitable<Scopes | undefined> {
    const storedScopes: Scopes = scopes === null ? 'all' : new Set(scopes)
    const [kind, name = ''] = grant?.split(':') ?? []
    if (kind === undefined) return storedScopes
    if (kind === 'key')
      return then(this.#hasKey(userId, Number(name)), exists => (exists ? storedScopes : undefined))
    return then(
      this.#rightsOf(userId, name),
      rights => rights && intersectScopes(storedScopes, rights.scopes),
    )
  }

  isLive(webhook: WebhookGrant): Awaitable<boolean> {
    return then(this.scopesOf(webhook), scopes => scopes !== undefined)
  }

  #hasKey(userId: number, keyId: number): Awaitable<boolean> {
    const { run, now = Date.now } = this.#parts
    return then(readItem<KeyExpiry>(run, keyExpiryById, keyId), key => {
      if (key?.user_id !== userId) return false
      return key.expires_at === null || Date.parse(key.expires_at) > now()
    })
  }

  /** The rights of the app that has the grant. `hash`: see `grantHash`. */
  #rightsOf(userId: number, hash: string): Awaitable<AppRights | undefined> {
    const { records, rightsOfApp } = this.#parts
    return then(records.byOwner('Grant', String(userId)), grants => {
      const record = grants.find(({ id }) => grantHash(id) === hash)
      const clientId = record && storedGrant(record).clientId
      return clientId === undefined ? undefined : rightsOfApp(clientId)
    })
  }
}

/** The scopes that are in both. */
export function intersectScopes(one: Scopes, other: Scopes): Scopes {
  if (other === 'all') return one
  return one === 'all' ? other : commonScopes(one, other)
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
 * Pauses the webhooks of a user that were created in a browser session. For the recovery of an account: an intruder may have had
 * the session, and these webhooks do not end with a credential.
 */
export async function pauseSessionWebhooks(run: Run, userId: number): Promise<void> {
  const webhooks = await readAllStored<Pick<StoredWebhook, 'id' | 'grant'>>(run, webhooksOfUser, userId)
  await Promise.all(webhooks.filter(({ grant }) => grant === null).map(({ id }) => pauseEnded(run, id)))
}

/** The hashes of the OAuth grants with which webhooks of a user were created. */
export async function grantsOfWebhooks(run: Run, userId: number): Promise<ReadonlySet<string>> {
  const webhooks = await readAll<Pick<StoredWebhook, 'id' | 'grant'>>(run, webhooksOfUser, userId)
  return new Set(
    webhooks.flatMap(({ grant }) => (grant?.startsWith('grant:') ? [grant.slice('grant:'.length)] : [])),
  )
}

/** Pauses the webhooks of a disabled account. */
export async function pauseWebhooksOfUser(run: Run, userId: number): Promise<void> {
  const webhooks = await readAll<Pick<StoredWebhook, 'id'>>(run, webhooksOfUser, userId)
  await Promise.all(webhooks.map(({ id }) => pauseWebhook(run, id, disabledReason)))
}

/**
 * Wraps `records` so that deleting a grant pauses the webhooks created with it. If a crash prevents that, the next delivery
 * finds that the grant has ended: see `WebhookPrincipals`.
 */
export function withWebhookEnds(records: Records, run: Run): Records {
  const end = (grants: readonly string[]) =>
    // The deletion has succeeded, so the caller gets no error.
    Promise.all(grants.map(grant => endWebhooks(run, `grant:${grantHash(grant)}`))).catch(() => undefined)
  return {
    ...forwarding(records),
    async delete(kind, id) {
      const deleted = await records.delete(kind, id)
      if (kind === 'Grant') await end([id])
      return deleted
    },
    async deleteGrant(grant) {
      const count = await records.deleteGrant(grant)
      await end([grant])
      return count
    },
    async deleteOwned(owner, kinds) {
      const grants = kinds.includes('Grant') ? await records.byOwner('Grant', owner) : []
      const count = await records.deleteOwned(owner, kinds)
      await end(grants.map(({ id }) => id))
      return count
    },
  }
}
