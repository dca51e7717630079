/**
 * Introspection (RFC 7662) of an ordinary token by an ordinary app, straight from the records: what most asks are.
 * Everything else, every fault among it, is left to the library, whose answers these equal.
 */
import type { Reply } from '../../call.ts'
import type { Records, StoredRecord } from '../../records.ts'
import type { AppRow, Apps } from './apps.ts'
import { looksLikeJwt, type TokenSigner } from './jwt.ts'
import { type Asking, opaque, quickHeaders, quickRequest } from './quick.ts'
import { allowedScope, withCovered } from './scopes.ts'
import { secretHash } from './secret.ts'
import type { HasAccount } from './server.ts'

export interface IntrospectionParts {
  readonly issuer: string
  readonly records: Records
  readonly apps: Apps
  readonly hasAccount: HasAccount
  /** See `OauthSettings`. */
  readonly secretOverlap: number
}

/** What is stored of an access or refresh token. */
interface StoredToken {
  readonly clientId: string
  readonly accountId?: string
  readonly grantId?: string
  readonly scope?: string
  readonly jkt?: string
  readonly iat: number
  readonly exp: number
  readonly sid?: string
  readonly kind: string
}

const ordinary = new Set(['token', 'token_type_hint', 'client_id', 'client_secret'])
const kinds = ['AccessToken', 'ClientCredentials', 'RefreshToken'] as const

const inactive: Reply = { status: 200, headers: quickHeaders, body: '{"active":false}' }

export class Introspection {
  readonly #parts: IntrospectionParts

  constructor(parts: IntrospectionParts) {
    this.#parts = parts
  }

  /** Undefined: it is for the library. */
  async answer(asking: Asking, signer: TokenSigner): Promise<Reply | undefined> {
    const request = await quickRequest(asking, ordinary, this.#parts)
    const token = request?.form.token
    if (!request || token === undefined) return undefined
    const { app } = request
    const isJwt = looksLikeJwt(token)
    if (!isJwt && !opaque.test(token)) return undefined
    const jti = isJwt ? signer.verify(token, this.#parts.issuer, Date.now())?.jti : undefined
    if (isJwt && jti === undefined) return inactive
    const record = await this.#find(jti ?? secretHash(token))
    const body = record && (await this.#bodyOf(record, app, jti))
    return body === undefined ? inactive : { status: 200, headers: quickHeaders, body: JSON.stringify(body) }
  }

  async #find(id: string): Promise<StoredRecord | undefined> {
    for (const kind of kinds) {
      const found = await this.#parts.records.get(kind, id)
      if (found) return found
    }
    return undefined
  }

  /** Undefined: the app is not to learn of it, or it works no more. */
  async #bodyOf(
    { kind, payload, consumedAt }: StoredRecord,
    app: AppRow,
    jti: string | undefined,
  ): Promise<object | undefined> {
    const token = JSON.parse(payload) as StoredToken
    if (consumedAt !== null || token.clientId !== app.client_id) return undefined
    if (jti !== undefined && kind === 'RefreshToken') return undefined
    if (token.grantId !== undefined && !(await this.#isGranted(token, token.grantId))) return undefined
    const { accountId, clientId, exp, iat, sid, scope, jkt } = token
    if (accountId !== undefined && !(await this.#parts.hasAccount(Number(accountId)))) return undefined
    const client = app.scopes === null ? undefined : { scope: [...withCovered(app.scopes)].join(' ') }
    return {
      active: true,
      sub: accountId,
      client_id: clientId,
      exp,
      iat,
      sid,
      iss: this.#parts.issuer,
      jti,
      aud: this.#parts.issuer,
      scope: scope === undefined ? undefined : allowedScope(scope, client) || undefined,
      cnf: jkt === undefined ? undefined : { jkt },
      token_type: kind === 'RefreshToken' ? undefined : jkt === undefined ? 'Bearer' : 'DPoP',
    }
  }

  async #isGranted({ clientId, accountId }: StoredToken, grantId: string): Promise<boolean> {
    const grant = await this.#parts.records.get('Grant', grantId)
    if (!grant) return false
    const { clientId: ofClient, accountId: ofAccount } = JSON.parse(grant.payload) as StoredToken
    return ofClient === clientId && ofAccount === accountId
  }
}
