/**
 * Access tokens as JWTs. The library keeps the record of a token under a random id, as for opaque ones; only
 * what the client gets is a JWT whose `jti` is the hash of that id. So a JWT can be introspected and revoked,
 * and whoever checks one at another server needs our public keys only.
 */
import { randomBytes } from 'node:crypto'
import type Provider from 'oidc-provider'
import type { Client, Model, ModelClass } from 'oidc-provider'
import type { Awaitable } from '../../plan/answer.ts'
import type { Records } from '../../records.ts'
import { grantHash } from './denials.ts'
import { looksLikeJwt, type TokenSigner } from './jwt.ts'
import { allowedScope } from './scopes.ts'
import { secretHash } from './secret.ts'

export interface TokenParts {
  readonly issuer: string
  readonly records: Records
  readonly signer: TokenSigner
  /** What an app may ask for; undefined: there is no such app. */
  readonly findClient: (clientId: string) => Awaitable<{ readonly scope?: string } | undefined>
  /** What an app without a format of its own gets. */
  readonly format: 'opaque' | 'jwt'
}

/** In place of a token in a form that the library refuses; only this process can make one. */
const handles = `${randomBytes(24).toString('base64url')}~`

/** A JWT in the body of an introspection or revocation, as the library will find it. */
export function handleOf(token: string, { signer, issuer }: Pick<TokenParts, 'signer' | 'issuer'>): string {
  if (!looksLikeJwt(token)) return token
  const claims = signer.verify(token, issuer, Date.now())
  return claims ? handles + claims.jti : 'unknown'
}

interface IssuedToken extends Model {
  client?: Client
  iat?: number
  jkt?: string
}

async function findByHash(
  kind: string,
  model: ModelClass<Model>,
  jti: string,
  records: Records,
): Promise<Model | undefined> {
  const found = await records.get(kind, jti)
  return found && model.instantiate({ ...JSON.parse(found.payload), jti: `#${jti}` })
}

function issueJwts(
  kind: 'AccessToken' | 'ClientCredentials',
  model: ModelClass<Model>,
  parts: TokenParts,
): void {
  const { signer, issuer, records, format } = parts
  const { getValueAndPayload } = model.prototype
  model.prototype.getValueAndPayload = async function asJwt(this: IssuedToken) {
    const made = await getValueAndPayload.call(this)
    if ((this.client?.access_token_format ?? format) !== 'jwt') return made
    const { iat, exp } = made.payload as { iat: number; exp: number }
    const value = signer.sign({
      iss: issuer,
      aud: issuer,
      // RFC 9068, 2.2: without a user, the client itself.
      sub: this.accountId ?? String(this.clientId),
      client_id: String(this.clientId),
      iat,
      exp,
      jti: secretHash(made.value),
      scope: this.scope ?? '',
      ...(this.grantId === undefined ? undefined : { grant_id: grantHash(this.grantId) }),
      ...(this.jkt === undefined ? undefined : { cnf: { jkt: this.jkt } }),
    })
    return { value, payload: made.payload }
  }
  const find = model.find.bind(model)
  const findAny = (token: string, options?: Record<string, unknown>): Awaitable<Model | undefined> => {
    if (token.startsWith(handles)) return findByHash(kind, model, token.slice(handles.length), records)
    if (!looksLikeJwt(token)) return find(token, options)
    const claims = signer.verify(token, issuer, Date.now())
    return claims && findByHash(kind, model, claims.jti, records)
  }
  model.find = async (token, options) => {
    const found = await findAny(token, options)
    // What its app may not ask for any more, it does not tell of its user either.
    if (found?.scope !== undefined) {
      found.scope = allowedScope(found.scope, await parts.findClient(String(found.clientId)))
    }
    return found
  }
}

/** Lets the provider's access tokens be JWTs where an app or the service is set so. */
export function allowJwts(provider: Provider, parts: TokenParts): void {
  issueJwts('AccessToken', provider.AccessToken, parts)
  issueJwts('ClientCredentials', provider.ClientCredentials, parts)
}
