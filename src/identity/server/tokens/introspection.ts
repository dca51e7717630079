/** The introspection response for a token (RFC 7662), from the records. */
import type { Reply } from '../../../base/call.ts'
import type { Records, StoredRecord } from '../../../base/records.ts'
import type { AppRow } from '../clients/apps.ts'
import { allowedScope, withCovered } from '../consent/scopes.ts'
import { storedGrant } from '../consent/stored-grant.ts'
import { isRandomSecret, secretHash } from '../secret.ts'
import type { HasAccount } from '../server.ts'
import { looksLikeJwt, type TokenSigner } from './jwt.ts'
import type { StoredToken } from './stored-token.ts'

export interface IntrospectionParts {
  readonly issuer: string
  readonly records: Records
  readonly hasAccount: HasAccount
}

const kinds = ['AccessToken', 'ClientCredentials', 'RefreshToken'] as const

/** The headers of oidc-provider's own responses. */
const headers: readonly string[] = [
  'Content-Type',
  'application/json; charset=utf-8',
  'Cache-Control',
  'no-store',
  'Referrer-Policy',
  'no-referrer',
]

const inactive: Reply = { status: 200, headers, body: '{"active":false}' }

/** Answers introspection requests of apps that have authenticated. */
export class Introspection {
  readonly #parts: IntrospectionParts

  constructor(parts: IntrospectionParts) {
    this.#parts = parts
  }

  /** The response to an authenticated app; undefined if the text is not one of our tokens. */
  async answer(app: AppRow, token: string, signer: TokenSigner): Promise<Reply | undefined> {
    const isJwt = looksLikeJwt(token)
    if (!isJwt && !isRandomSecret(token)) return undefined
    const jti = isJwt ? signer.verify(token, this.#parts.issuer, Date.now())?.jti : undefined
    if (isJwt && jti === undefined) return inactive
    const record = await this.#find(jti ?? secretHash(token))
    const body = record && (await this.#bodyOf(record, app, jti))
    return body === undefined ? inactive : { status: 200, headers, body: JSON.stringify(body) }
  }

  async #find(id: string): Promise<StoredRecord | undefined> {
    for (const kind of kinds) {
      const record = await this.#parts.records.get(kind, id)
      if (record) return record
    }
    return undefined
  }

  /** Undefined if the token belongs to another app, or is no longer valid. */
  async #bodyOf(
    { kind, payload, consumedAt }: StoredRecord,
    app: AppRow,
    jti: string | undefined,
  ): Promise<object | undefined> {
    const token = JSON.parse(payload) as StoredToken
    if (consumedAt !== null || token.clientId !== app.client_id) return undefined
    if (jti !== undefined && kind === 'RefreshToken') return undefined
    if (token.exp * 1000 <= Date.now()) return undefined
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
    const record = await this.#parts.records.get('Grant', grantId)
    if (!record) return false
    const grant = storedGrant(record)
    return grant.clientId === clientId && grant.accountId === accountId
  }
}
