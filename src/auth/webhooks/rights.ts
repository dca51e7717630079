/** As whom webhooks are sent: their owners, and the users who have granted their apps access. */
import { type Awaitable, then } from '../../plan/answer.ts'
import type { Run } from '../../plan/run.ts'
import { itemShape, readItem } from '../../plan/system-plans.ts'
import { commonScopes, type Principal, type Scopes, user } from '../../principal.ts'
import type { Records, StoredRecord } from '../../records.ts'
import type { AppRights } from '../server/clients/apps.ts'
import { bothScopes, type WebhookGrants } from './grants.ts'

/** What is known of a webhook that sends. */
export interface SendingWebhook {
  readonly userId: number
  readonly appId: number | null
  /** Null: all. */
  readonly scopes: readonly string[] | null
  /** `Principal.grant` of the credential that made it. */
  readonly grant: string | null
}

interface RightsParts {
  readonly run: Run
  readonly records: Pick<Records, 'after' | 'byOwner'>
  readonly grants: WebhookGrants
  readonly rightsOfApp: (clientId: string) => Awaitable<AppRights | undefined>
  readonly now?: () => number
}

const userById = itemShape('users', ['role'])
const appById = itemShape('oauth_apps', ['client_id'])

/** How long a new grant may go unnoticed. Looking means reading every grant. */
const usersKeptMs = 2000
const grantsAtOnce = 1000

interface StoredGrant {
  readonly clientId?: string
  readonly accountId?: string
  readonly openid?: { readonly scope?: string }
}

export class WebhookRights {
  readonly #parts: RightsParts
  readonly #now: () => number
  #users: { readonly at: number; readonly byClient: Promise<UsersByClient> } | undefined

  constructor(parts: RightsParts) {
    this.#parts = parts
    this.#now = parts.now ?? Date.now
  }

  /** The users who have granted the app of an app's webhook access, in the order of their ids. */
  async usersOf({ appId }: SendingWebhook): Promise<readonly number[]> {
    const clientId = appId === null ? undefined : await this.#clientIdOf(appId)
    if (clientId === undefined) return []
    const users = (await this.#usersByClient()).get(clientId)
    return users === undefined ? [] : [...users].sort((one, other) => one - other)
  }

  /**
   * The webhook's owner, or `userId` of an app's webhook, with its present rights within the webhook's scopes. Undefined:
   * the grant has ended, or the user is gone.
   */
  principalOf(webhook: SendingWebhook, userId: number | null): Awaitable<Principal | undefined> {
    const { userId: owner, appId, scopes, grant } = webhook
    const ofWebhook = this.#parts.grants.scopesOf({ user_id: owner, scopes, grant })
    return then(ofWebhook, allowed => {
      if (allowed === undefined) return undefined
      if (userId === null) return this.#principal(owner, allowed, appId)
      return then(this.#grantedBy(userId, appId), granted =>
        granted === undefined ? undefined : this.#principal(userId, bothScopes(allowed, granted), appId),
      )
    })
  }

  #principal(userId: number, scopes: Scopes, appId: number | null): Awaitable<Principal | undefined> {
    return then(
      readItem<{ readonly role: string }>(this.#parts.run, userById, userId),
      found => found && user(userId, found.role, scopes, undefined, undefined, { appId, grant: null }),
    )
  }

  /** What a user's grants let the app see now; undefined: there is none any more. */
  #grantedBy(userId: number, appId: number | null): Awaitable<ReadonlySet<string> | undefined> {
    const { records, rightsOfApp } = this.#parts
    return then(appId === null ? undefined : this.#clientIdOf(appId), clientId => {
      if (clientId === undefined) return undefined
      return then(records.byOwner('Grant', String(userId)), stored => {
        const grants = stored.map(grantOf).filter(one => one.clientId === clientId)
        if (grants.length === 0) return undefined
        const scopes = new Set(grants.flatMap(({ openid }) => openid?.scope?.split(' ') ?? []))
        return then(rightsOfApp(clientId), rights => {
          if (rights === undefined) return undefined
          return rights.scopes === 'all' ? scopes : commonScopes(scopes, rights.scopes)
        })
      })
    })
  }

  #clientIdOf(appId: number): Awaitable<string | undefined> {
    return then(
      readItem<{ readonly client_id: string }>(this.#parts.run, appById, appId),
      app => app?.client_id,
    )
  }

  #usersByClient(): Promise<UsersByClient> {
    const now = this.#now()
    if (this.#users !== undefined && now - this.#users.at < usersKeptMs) return this.#users.byClient
    const byClient = readUsers(this.#parts.records)
    this.#users = { at: now, byClient }
    byClient.catch(() => {
      this.#users = undefined
    })
    return byClient
  }
}

type UsersByClient = ReadonlyMap<string, ReadonlySet<number>>

async function readUsers(records: Pick<Records, 'after'>): Promise<UsersByClient> {
  const byClient = new Map<string, Set<number>>()
  for (let last = ''; ; ) {
    const page = await records.after('Grant', last, grantsAtOnce)
    for (const { clientId, accountId } of page.map(grantOf)) {
      if (clientId === undefined || accountId === undefined) continue
      const users = byClient.get(clientId) ?? new Set()
      byClient.set(clientId, users.add(Number(accountId)))
    }
    last = page.at(-1)?.id ?? ''
    if (page.length < grantsAtOnce) return byClient
  }
}

function grantOf({ payload }: StoredRecord): StoredGrant {
  return JSON.parse(payload) as StoredGrant
}
