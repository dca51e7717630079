/** A webhook ends with the credential that created it: with its API key, or the grant of its access token. */
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
import type { AppRights } from '../server/clients/apps.ts'
import { storedGrant } from '../server/consent/stored-grant.ts'
import { grantHash } from '../server/tokens/deny-list.ts'
import type { StoredWebhook } from './stored.ts'

export const endedReason = 'The credential that made it has ended. Enable it with another one to go on.'

export const disabledReason =
  'The account of its owner was disabled. Once that is enabled again, enable this to go on.'

interface GrantParts {
  readonly run: Run
  readonly records: Records
  readonly rightsOfApp: (clientId: string) => Awaitable<AppRights | undefined>
  readonly now?: () => number
}

const keyById = itemShape('api_keys', ['user_id', 'expires_at'])

interface StoredKey {
  readonly user_id: number
  readonly expires_at: string | null
}

type Granted = Pick<StoredWebhook, 'user_id' | 'scopes' | 'grant'>

export class WebhookGrants {
  readonly #parts: GrantParts

  constructor(parts: GrantParts) {
    this.#parts = parts
  }

  /** The scopes of the webhook now; undefined if the credential that created it has ended. */
  scopesOf({ user_id: userId, scopes, grant }: Granted): Awaitable<Scopes | undefined> {
    const own: Scopes = scopes === null ? 'all' : new Set(scopes)
    const [kind, name = ''] = grant?.split(':') ?? []
    if (kind === undefined) return own
    if (kind === 'key') return then(this.#hasKey(userId, Number(name)), has => (has ? own : undefined))
    return then(this.#rightsOf(userId, name), rights => rights && bothScopes(own, rights.scopes))
  }

  isLive(webhook: Granted): Awaitable<boolean> {
    return then(this.scopesOf(webhook), scopes => scopes !== undefined)
  }

  #hasKey(userId: number, keyId: number): Awaitable<boolean> {
    const { run, now = Date.now } = this.#parts
    return then(readItem<StoredKey>(run, keyById, keyId), key => {
      if (key?.user_id !== userId) return false
      return key.expires_at === null || Date.parse(key.expires_at) > now()
    })
  }

  /** The rights of the app that has the grant. `hash`: see `grantHash`. */
  #rightsOf(userId: number, hash: string): Awaitable<AppRights | undefined> {
    const { records, rightsOfApp } = this.#parts
    return then(records.byOwner('Grant', String(userId)), grants => {
      const found = grants.find(({ id }) => grantHash(id) === hash)
      const clientId = found && storedGrant(found).clientId
      return clientId === undefined ? undefined : rightsOfApp(clientId)
    })
  }
}

/** The scopes in both. */
export function bothScopes(one: Scopes, other: Scopes): Scopes {
  if (other === 'all') return one
  return one === 'all' ? other : commonScopes(one, other)
}

const ofGrant = listShape('webhooks', ['id'], where('grant'))
const pause: UpdateShape = {
  ...updateShape('webhooks', ['paused_at', 'pause_reason']),
  eventType: 'webhook.paused',
}

const pausedAt = itemShape('webhooks', ['paused_at'])

/** Pauses a webhook whose credential has ended, unless it is already paused. */
export function pauseEnded(run: Run, id: number): Promise<void> {
  return pauseWebhook(run, id, endedReason)
}

/**
 * Pauses a webhook, unless it is already paused: of parallel attempts that all find its credential ended, one logs the
 * event. `enableWebhook` resumes the webhook from where it stopped.
 */
export async function pauseWebhook(run: Run, id: number, reason: string): Promise<void> {
  await run.transaction({
    serial: ['webhooks'],
    principal: system,
    *steps(): ProgramSteps<void> {
      const found = yield* readItemStep<{ readonly paused_at: string | null }>(pausedAt, id)
      if (found?.paused_at === null) yield { shape: pause, args: [id, new Date().toISOString(), reason] }
    },
  })
}

/** Pauses the webhooks that were created with a grant that has ended. `grant`: see `Principal.grant`. */
export async function endWebhooks(run: Run, grant: string): Promise<void> {
  const found = await readAll<{ readonly id: number }>(run, ofGrant, grant)
  await Promise.all(found.map(({ id }) => pauseEnded(run, id)))
}

const grantsOfUser = listShape('webhooks', ['id', 'grant'], where('user_id'))

/**
 * Pauses the webhooks of a user that were created in a browser session: they end with no credential, and somebody else may
 * have had the session. For the recovery of an account.
 */
export async function pauseMadeInSessions(run: Run, userId: number): Promise<void> {
  const found = await readAllStored<Pick<StoredWebhook, 'id' | 'grant'>>(run, grantsOfUser, userId)
  await Promise.all(found.filter(({ grant }) => grant === null).map(({ id }) => pauseEnded(run, id)))
}

/** The hashes of the OAuth grants with which webhooks of a user were created. */
export async function grantsOfWebhooks(run: Run, userId: number): Promise<ReadonlySet<string>> {
  const found = await readAll<Pick<StoredWebhook, 'id' | 'grant'>>(run, grantsOfUser, userId)
  return new Set(
    found.flatMap(({ grant }) => (grant?.startsWith('grant:') ? [grant.slice('grant:'.length)] : [])),
  )
}

/** Pauses the webhooks of a disabled account. */
export async function pauseOfUser(run: Run, userId: number): Promise<void> {
  const found = await readAll<Pick<StoredWebhook, 'id'>>(run, grantsOfUser, userId)
  await Promise.all(found.map(({ id }) => pauseWebhook(run, id, disabledReason)))
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
