/** The principals whose events a webhook is sent: its owner, or the users of its app, with their present rights. */
import { openidScopes } from '../../model/builtin.ts'
import type { Run } from '../../plan/run.ts'
import { itemShape, readItem } from '../../plan/system-plans.ts'
import { commonScopes, type Principal, type Scopes, type Through, user } from '../../principal.ts'
import type { Records } from '../../records.ts'
import { storedGrant } from '../server/consent/stored-grant.ts'
import { bothScopes, disabledReason, pauseEnded, pauseWebhook, type WebhookGrants } from './grants.ts'

export interface WebhookOf {
  readonly id: number
  readonly userId: number
  readonly appId: number | null
  /** Null: all. */
  readonly scopes: readonly string[] | null
  readonly grant: string | null
}

interface PrincipalParts {
  readonly run: Run
  readonly records: Pick<Records, 'after' | 'version' | 'byOwner'>
  readonly grants: Pick<WebhookGrants, 'scopesOf'>
  /** Monotonic time, in milliseconds. */
  readonly elapsed?: () => number
}

/** New grants change no version, so grants are read again at this interval, for at most this share of the time. */
const minRefreshMs = 1000
const maxRefreshShare = 0.05
const pageLength = 500

interface Caller {
  readonly role: string
  readonly disabled: boolean
}

const userById = itemShape('users', ['role', 'disabled'])
const appById = itemShape('oauth_apps', ['client_id', 'scopes'])

interface AppRow {
  readonly client_id: string
  /** The scopes that it may request now; null: any. */
  readonly scopes: readonly string[] | null
}

export class WebhookPrincipals {
  readonly #parts: PrincipalParts
  readonly #elapsed: () => number
  /** By client id: the users who have granted the app access. */
  #users = new Map<string, number[]>()
  #version = -1
  #refreshAt = 0

  constructor(parts: PrincipalParts) {
    this.#parts = parts
    this.#elapsed = parts.elapsed ?? (() => performance.now())
  }

  /** The users who have granted the webhook's app access, in the order of their ids. A new grant is seen within about a second. */
  async usersOf({ appId }: WebhookOf): Promise<readonly number[]> {
    const app = await this.#appOf(appId)
    if (app === undefined) return []
    await this.#refresh()
    return this.#users.get(app.client_id) ?? []
  }

  /** The owner, or a user of the app; undefined if the access has ended. */
  async principalOf(webhook: WebhookOf, userId: number | null): Promise<Principal | undefined> {
    const { id, userId: ownerId, scopes, grant, appId } = webhook
    const allowed = await this.#parts.grants.scopesOf({ user_id: ownerId, scopes, grant })
    if (allowed === undefined) {
      // A crash or a command ended the grant without pausing the webhook.
      await pauseEnded(this.#parts.run, id)
      return undefined
    }
    // A webhook that an app or a key has created sees no more than an app would.
    const owner = await this.#user(ownerId, allowed, { appId: null, grant, thirdParty: grant !== null })
    if (owner === undefined) await pauseWebhook(this.#parts.run, id, disabledReason)
    if (owner === undefined || userId === null) return owner
    const granted = await this.#grantedBy(userId, appId)
    return (
      granted && this.#user(userId, bothScopes(granted, allowed), { appId, grant: null, thirdParty: true })
    )
  }

  async #user(id: number, scopes: Scopes, through: Through): Promise<Principal | undefined> {
    const row = await readItem<Caller>(this.#parts.run, userById, id)
    if (row === undefined || row.disabled) return undefined
    return user(id, row.role, scopes, undefined, undefined, through)
  }

  async #appOf(appId: number | null): Promise<AppRow | undefined> {
    return appId === null ? undefined : readItem<AppRow>(this.#parts.run, appById, appId)
  }

  /** The scopes of all grants of a user to an app, without those that the app has lost; undefined if there is no grant. */
  async #grantedBy(userId: number, appId: number | null): Promise<ReadonlySet<string> | undefined> {
    const app = await this.#appOf(appId)
    const records = await this.#parts.records.byOwner('Grant', String(userId))
    const own = records.map(storedGrant).filter(grant => grant.clientId === app?.client_id)
    if (app === undefined || own.length === 0) return undefined
    const scopes = own.flatMap(grant => [...grant.scopes])
    const granted = new Set(scopes.filter(scope => !openidScopes.has(scope)))
    return app.scopes === null ? granted : commonScopes(granted, new Set(app.scopes))
  }

  async #refresh(): Promise<void> {
    const { records } = this.#parts
    const version = records.version('Grant')
    if (version === this.#version && this.#elapsed() < this.#refreshAt) return
    const startedAt = this.#elapsed()
    const users = new Map<string, Set<number>>()
    for (let last = ''; ; ) {
      const found = await records.after('Grant', last, pageLength)
      for (const record of found) {
        const { clientId } = storedGrant(record)
        if (clientId === undefined || record.owner === null) continue
        users.set(clientId, (users.get(clientId) ?? new Set()).add(Number(record.owner)))
      }
      last = found.at(-1)?.id ?? ''
      if (found.length < pageLength) break
    }
    this.#users = new Map([...users].map(([client, ids]) => [client, [...ids].sort((a, b) => a - b)]))
    this.#version = version
    const tookMs = this.#elapsed() - startedAt
    this.#refreshAt = this.#elapsed() + Math.max(minRefreshMs, tookMs / maxRefreshShare)
  }
}
