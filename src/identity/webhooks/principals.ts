/** The principals whose events are sent to a webhook: its owner, or the users of its app, with their current rights. */

import {
  type CallerApp,
  commonScopes,
  type Delegate,
  intersectScopes,
  type Principal,
  type Scopes,
  user,
} from '../../base/principal.ts'
import type { Records } from '../../base/records.ts'
import type { Run } from '../../engine/plan/run.ts'
import { itemShape, readItem } from '../../engine/plan/system-plans.ts'
import { openidScopes } from '../../model/builtin/builtin.ts'
import { type CredentialOwner, credentialOwnerById } from '../accounts/users.ts'
import { storedGrant } from '../server/consent/stored-grant.ts'
import { disabledReason, pauseEnded, pauseWebhook, type WebhookGrants } from './grants.ts'

/** The owner and the credential of a webhook. */
export interface WebhookAccess {
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
  readonly grants: Pick<WebhookGrants, 'rightsOf'>
  /** Monotonic time, in milliseconds. */
  readonly elapsed?: () => number
}

/** New grants do not change the version, so grants are reread at this interval, for at most this share of the time. */
const minRefreshMs = 1000
const maxRefreshShare = 0.05
const pageSize = 500

const appById = itemShape('oauth_apps', ['id', 'name', 'client_id', 'scopes'])

interface WebhookApp extends CallerApp {
  readonly client_id: string
  /** The scopes that the app may request now; null: any. */
  readonly scopes: readonly string[] | null
}

/** The principals with whose present rights events are delivered. */
export class WebhookPrincipals {
  readonly #parts: PrincipalParts
  readonly #elapsed: () => number
  /** The users who have granted an app access, by its client id. */
  #usersByClient = new Map<string, number[]>()
  #version = -1
  #refreshAt = 0

  constructor(parts: PrincipalParts) {
    this.#parts = parts
    this.#elapsed = parts.elapsed ?? (() => performance.now())
  }

  /** The users who have granted the webhook's app access, in the order of their ids. New grants are noticed within about a second. */
  async usersOf({ appId }: WebhookAccess): Promise<readonly number[]> {
    const app = await this.#appOf(appId)
    if (app === undefined) return []
    await this.#refresh()
    return this.#usersByClient.get(app.client_id) ?? []
  }

  /** The principal of the owner, or of a user of the app; undefined if the access has ended. */
  async principalOf(webhook: WebhookAccess, userId: number | null): Promise<Principal | undefined> {
    const { id, userId: ownerId, scopes, grant, appId } = webhook
    const rights = await this.#parts.grants.rightsOf({ user_id: ownerId, scopes, grant })
    if (rights === undefined) {
      // A crash or a command ended the grant without pausing the webhook.
      await pauseEnded(this.#parts.run, id)
      return undefined
    }
    // A webhook that an app or a key has created sees no more than an app.
    const creator = { app: rights.app, grant, thirdParty: grant !== null }
    const owner = await this.#user(ownerId, rights.scopes, creator)
    if (owner === undefined) await pauseWebhook(this.#parts.run, id, disabledReason)
    if (owner === undefined || userId === null) return owner
    const app = await this.#appOf(appId)
    const granted = app && (await this.#grantedBy(userId, app))
    if (app === undefined || granted === undefined) return undefined
    const delegate = { app: { id: app.id, name: app.name }, grant: null, thirdParty: true }
    return this.#user(userId, intersectScopes(granted, rights.scopes), delegate)
  }

  async #user(id: number, scopes: Scopes, delegate: Delegate): Promise<Principal | undefined> {
    const row = await readItem<CredentialOwner>(this.#parts.run, credentialOwnerById, id)
    if (row === undefined || row.disabled) return undefined
    return user(id, row.role, scopes, undefined, undefined, delegate)
  }

  async #appOf(appId: number | null): Promise<WebhookApp | undefined> {
    return appId === null ? undefined : readItem<WebhookApp>(this.#parts.run, appById, appId)
  }

  /** The scopes of all grants of a user to an app, without those that the app has lost; undefined if there is no grant. */
  async #grantedBy(userId: number, app: WebhookApp): Promise<ReadonlySet<string> | undefined> {
    const records = await this.#parts.records.byOwner('Grant', String(userId))
    const grants = records.map(storedGrant).filter(grant => grant.clientId === app.client_id)
    if (grants.length === 0) return undefined
    const scopes = grants.flatMap(grant => [...grant.scopes])
    const granted = new Set(scopes.filter(scope => !openidScopes.has(scope)))
    return app.scopes === null ? granted : commonScopes(granted, new Set(app.scopes))
  }

  async #refresh(): Promise<void> {
    const { records } = this.#parts
    const version = records.version('Grant')
    if (version === this.#version && this.#elapsed() < this.#refreshAt) return
    const startedAt = this.#elapsed()
    const users = new Map<string, Set<number>>()
    for (let lastId = ''; ; ) {
      const page = await records.after('Grant', lastId, pageSize)
      for (const record of page) {
        const { clientId } = storedGrant(record)
        if (clientId === undefined || record.owner === null) continue
        users.set(clientId, (users.get(clientId) ?? new Set()).add(Number(record.owner)))
      }
      lastId = page.at(-1)?.id ?? ''
      if (page.length < pageSize) break
    }
    this.#usersByClient = new Map(
      [...users].map(([clientId, ids]) => [clientId, [...ids].sort((a, b) => a - b)]),
    )
    this.#version = version
    const durationMs = this.#elapsed() - startedAt
    this.#refreshAt = this.#elapsed() + Math.max(minRefreshMs, durationMs / maxRefreshShare)
  }
}
