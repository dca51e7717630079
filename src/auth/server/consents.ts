/** What users have allowed apps: remembered, so that the same is not asked again, and taken back. */
import type Provider from 'oidc-provider'
import type { Context, Grant } from 'oidc-provider'
import { hasScope } from '../../principal.ts'
import type { Records } from '../../records.ts'
import { grantClaims, scopesAskedFor } from './claims.ts'

const KIND = 'Consent'

export interface Consent {
  readonly clientId: string
  readonly scopes: readonly string[]
  /** Milliseconds since 1970. */
  readonly at: number
}

/** The kinds of records that let an app act for a user. */
const granting = ['AccessToken', 'RefreshToken', 'AuthorizationCode', 'DeviceCode', 'Grant']

function idOf(userId: number, clientId: string): string {
  return `${userId}:${clientId}`
}

export class Consents {
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  async find(userId: number, clientId: string): Promise<Consent | undefined> {
    const found = await this.#records.get(KIND, idOf(userId, clientId))
    return found && (JSON.parse(found.payload) as Consent)
  }

  async all(userId: number): Promise<readonly Consent[]> {
    const found = await this.#records.byOwner(KIND, String(userId))
    return found.map(({ payload }) => JSON.parse(payload) as Consent)
  }

  /** `asked` of which `allowed`: what else was allowed before stays. */
  async remember(userId: number, clientId: string, asked: readonly string[], allowed: readonly string[]) {
    const before = (await this.find(userId, clientId))?.scopes ?? []
    const kept = before.filter(scope => !asked.includes(scope))
    const consent: Consent = { clientId, scopes: [...kept, ...allowed], at: Date.now() }
    const id = idOf(userId, clientId)
    await this.#records.put({
      kind: KIND,
      id,
      payload: JSON.stringify(consent),
      expiresAt: null,
      owner: String(userId),
    })
  }

  /** Takes everything from the app: every grant, and with it every token. */
  async revoke(userId: number, clientId: string): Promise<void> {
    await this.#records.delete(KIND, idOf(userId, clientId))
    for (const { id, payload } of await this.#records.byOwner('Grant', String(userId))) {
      if ((JSON.parse(payload) as { clientId?: string }).clientId !== clientId) continue
      await this.#records.delete('Grant', id)
      await this.#records.deleteGrant(id)
    }
  }

  /** Ends every token and pending code of the user; what was allowed stays remembered. */
  async endAll(userId: number): Promise<void> {
    await this.#records.deleteOwned(String(userId), granting)
  }
}

/**
 * The grant of a request: the one just consented to, or a new one where the user has allowed all of it before.
 * Each authorization has a grant of its own, so that what ends one leaves the app's others alone.
 */
export async function loadGrant(
  provider: Provider,
  consents: Consents,
  ctx: Context,
): Promise<Grant | undefined> {
  const consented = ctx.oidc.result?.consent?.grantId
  if (consented !== undefined) return provider.Grant.find(consented)
  const { client, account } = ctx.oidc
  const scopes = scopesAskedFor(ctx.oidc.params)
  if (!account || scopes.length === 0 || ctx.oidc.prompts.has('consent')) return undefined
  const before = await consents.find(Number(account.accountId), client.clientId)
  const allowed = new Set(before?.scopes)
  if (!scopes.every(scope => hasScope(allowed, scope))) return undefined
  const grant = new provider.Grant({ accountId: account.accountId, clientId: client.clientId })
  grant.addOIDCScope([...ctx.oidc.requestParamScopes].join(' '))
  grantClaims(grant, ctx.oidc.params.claims, scopes)
  await grant.save()
  return grant
}
