/** OAuth access tokens as credentials, opaque ones and our own JWTs: token → Principal. */

import { hash } from 'node:crypto'
import { type Awaitable, then } from '../base/awaitable.ts'
import { Cache, CacheBound } from '../base/cache.ts'
import type { EpochMs } from '../base/epoch-ms.ts'
import { app, commonScopes, type Principal, scopeSet, user } from '../base/principal.ts'
import type { Records, StoredRecord } from '../base/records.ts'
import type { Run } from '../engine/plan/run.ts'
import { readItem } from '../engine/plan/system-plans.ts'
import { type CredentialOwner, credentialOwnerById } from './accounts/users.ts'
import type { CredentialReader } from './authenticate.ts'
import type { Credential, CredentialSource } from './credentials.ts'
import { disabledCredential } from './disabled-account.ts'
import type { Proofs } from './dpop.ts'
import { dpopRefusal } from './dpop-challenge.ts'
import type { AppRights } from './server/clients/apps.ts'
import { isRandomSecret } from './server/secret.ts'
import { Denials, grantHash } from './server/tokens/deny-list.ts'
import { type AccessClaims, jwtPart, looksLikeJwt, TokenSigner } from './server/tokens/jwt.ts'
import { keysVersion, loadKeys } from './server/tokens/signing-keys.ts'
import type { StoredToken } from './server/tokens/stored-token.ts'

const maxCachedTokens = 100_000
/** JWTs are long. */
const maxCachedTexts = 10_000
const maxCachedRoles = 100_000

/** The properties of an access token, opaque or JWT. */
interface Token extends Pick<StoredToken, 'clientId' | 'accountId' | 'scope' | 'jkt' | 'authTime'> {
  /** See `deny-list.ts`. */
  readonly grantHash?: string | undefined
}

/** The principal of a token, and the thumbprint of the key that it is bound to. */
interface BoundPrincipal {
  readonly principal: Principal
  readonly jkt: string | undefined
}

/** Valid until something that it depends on changes. */
interface CachedAccessToken extends BoundPrincipal {
  readonly expiresAt: EpochMs
  readonly stamp: number
  /** For a JWT: the claims, and the version of the keys that verified them. */
  readonly verified: VerifiedJwt | undefined
}

interface VerifiedJwt {
  readonly claims: AccessClaims
  readonly keysVersion: number
}

export interface AccessTokenOptions {
  readonly run: Run
  readonly records: Records
  /** See `Store.version`. */
  readonly version: (collection: string) => number
  /** Returns undefined if there is no such app. */
  readonly rightsOfApp: (clientId: string) => Awaitable<AppRights | undefined>
  /** Undefined until the service's address is known. */
  readonly issuer: () => string | undefined
  /** The lifetime of access tokens, in seconds: see `withDenials`. */
  readonly accessSeconds: number
  /** The lifetime of refresh tokens, in seconds. */
  readonly refreshSeconds: number
  readonly now?: () => number
}

/** Reads access tokens. Every process refuses a revoked token as soon as the store's versions show the change. */
export function accessTokenReader(options: AccessTokenOptions): CredentialReader {
  const reader = new AccessTokenReader(options)
  return {
    read(credential, source) {
      if (credential.place === 'key') return undefined
      return credential.place === 'bearer'
        ? reader.bearer(credential.text, source)
        : reader.bound(credential, source)
    },
  }
}

class AccessTokenReader {
  readonly #options: AccessTokenOptions
  readonly #now: () => number
  readonly #denials: Denials
  readonly #byHash = new Cache<string, CachedAccessToken>(new CacheBound('access_tokens', maxCachedTokens))
  /** The same entries by the token's text, because hashing costs more than everything else. */
  readonly #byText = new Cache<string, CachedAccessToken>(
    new CacheBound('access_token_texts', maxCachedTexts),
  )
  readonly #roles = new Cache<number, string>(new CacheBound('roles', maxCachedRoles))
  #signer: { readonly version: number; readonly signer: TokenSigner } | undefined
  #proofs: Promise<Proofs> | undefined

  constructor(options: AccessTokenOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#denials = new Denials(options.records)
  }

  bearer(text: string, source: CredentialSource): Awaitable<Principal | null> | undefined {
    const token = this.#find(text)
    if (token === undefined) return undefined
    // Hot path: no closure.
    return token instanceof Promise
      ? token.then(accepted => unboundPrincipal(accepted, source))
      : unboundPrincipal(token, source)
  }

  /** RFC 9449, 7.1: a token that is bound to a key, with a proof that the sender has the key. */
  bound({ text }: Credential, source: CredentialSource): Awaitable<Principal> {
    return then(this.#find(text) ?? null, accepted => {
      if (accepted === null) throw dpopRefusal('invalid_token', 'The token is wrong, expired or revoked')
      const { principal, jkt } = accepted
      if (jkt === undefined) {
        throw dpopRefusal('invalid_token', 'The token is bound to no key', 'Send it as `Bearer …`.')
      }
      return source.proven ? principal : this.#prove(text, jkt, source).then(() => principal)
    })
  }

  async #prove(token: string, jkt: string, { method, path, headers }: CredentialSource): Promise<void> {
    if (method === undefined || path === undefined) throw webSocketMessageRefusal()
    const { records, issuer } = this.#options
    this.#proofs ??= import('./dpop.ts').then(({ Proofs }) => new Proofs({ records, issuer, now: this.#now }))
    await (await this.#proofs).check({ method, path, proof: headers.dpop }, token, jkt)
  }

  #find(text: string): Awaitable<BoundPrincipal | null> | undefined {
    const stamp = this.#stamp()
    const cachedByText = this.#byText.get(text, stamp)
    if (cachedByText !== undefined && cachedByText.expiresAt > this.#now()) return cachedByText
    const isJwt = text.includes('.')
    if (!isJwt && !isRandomSecret(text)) return undefined
    // Only valid tokens are cached, so a cached JWT need not be parsed again.
    const key = hash('sha256', text, 'base64url')
    const cached = this.#byHash.get(key)
    const isCurrent = cached !== undefined && cached.expiresAt > this.#now()
    if (isCurrent && cached.stamp === stamp) {
      this.#byText.set(text, cached, 1, stamp)
      return cached
    }
    if (isJwt) return this.#findJwt(text, key, stamp, isCurrent ? cached.verified : undefined)
    return this.#findRecord(key, key, stamp)
  }

  /** Changes when a token, a grant, an app or a user may have changed. No version ever decreases, so neither does the sum. */
  #stamp(): number {
    const { records, version } = this.#options
    return (
      records.version('AccessToken') +
      records.version('ClientCredentials') +
      records.version('Grant') +
      records.version('Client') +
      version('users') +
      version('oauth_apps') +
      keysVersion(records)
    )
  }

  #findJwt(
    text: string,
    key: string,
    stamp: number,
    verified: VerifiedJwt | undefined,
  ): Awaitable<BoundPrincipal | null> | undefined {
    if (verified?.keysVersion === keysVersion(this.#options.records)) {
      return this.#acceptJwt(key, verified, stamp)
    }
    if (!looksLikeJwt(text) || jwtPart(text, 1)?.iss !== this.#options.issuer()) return undefined
    return then(this.#verify(text), jwt => (jwt ? this.#acceptJwt(key, jwt, stamp) : null))
  }

  #verify(text: string): Awaitable<VerifiedJwt | undefined> {
    const { records } = this.#options
    const issuer = this.#options.issuer()
    if (issuer === undefined) return undefined
    const version = keysVersion(records)
    return then(this.#currentSigner(version), signer => {
      const claims = signer.verify(text, issuer, this.#now())
      return claims && { claims, keysVersion: version }
    })
  }

  #currentSigner(version: number): Awaitable<TokenSigner> {
    if (this.#signer?.version === version) return this.#signer.signer
    return loadKeys(this.#options.records).then(keys => {
      const signer = new TokenSigner(keys)
      this.#signer = { version, signer }
      return signer
    })
  }

  /** A JWT is valid unless it is denied. If it could outlive its denial, its record is read instead. */
  #acceptJwt(key: string, verified: VerifiedJwt, stamp: number): Awaitable<BoundPrincipal | null> {
    const { claims } = verified
    const {
      jti,
      iat,
      exp,
      sub,
      client_id: clientId,
      grant_id: grant,
      scope,
      cnf,
      auth_time: authTime,
    } = claims
    const hasUser = sub !== clientId
    if (exp - iat > this.#options.accessSeconds || (hasUser && grant === undefined)) {
      return this.#findRecord(key, jti, stamp)
    }
    return then(this.#denials.ids(), denied => {
      if (denied.has(jti) || (grant !== undefined && denied.has(grant))) return null
      const binding = cnf && { jkt: cnf.jkt }
      const user = hasUser && { accountId: sub, ...(authTime !== undefined && { authTime }) }
      const token = { clientId, ...user, grantHash: grant, scope, ...binding }
      return this.#accept(key, token, { expiresAt: exp * 1000, stamp, verified })
    })
  }

  #findRecord(key: string, id: string, stamp: number): Awaitable<BoundPrincipal | null> {
    const { records } = this.#options
    const accept = (record: StoredRecord) => {
      const token = JSON.parse(record.payload) as StoredToken
      const { grantId } = token
      // Two concurrent exchanges of one code may leave a token whose grant was deleted.
      return then(grantId === undefined || records.get('Grant', grantId), grant =>
        grant
          ? this.#accept(key, withGrantHash(token), {
              expiresAt: record.expiresAt ?? 0,
              stamp,
              verified: undefined,
            })
          : null,
      )
    }
    return then(records.get('AccessToken', id), userToken =>
      userToken
        ? accept(userToken)
        : then(records.get('ClientCredentials', id), appToken => (appToken ? accept(appToken) : null)),
    )
  }

  #accept(
    key: string,
    token: Token,
    validity: Omit<CachedAccessToken, keyof BoundPrincipal>,
  ): Awaitable<BoundPrincipal | null> {
    return then(this.#options.rightsOfApp(token.clientId), rights =>
      then(rights && this.#principalOf(token, rights, validity.expiresAt), principal => {
        if (!principal) return null
        const entry = { principal, jkt: token.jkt, ...validity }
        this.#byHash.set(key, entry)
        return entry
      }),
    )
  }

  #principalOf(
    { clientId, accountId, grantHash, scope, authTime = 0 }: Token,
    { app: named, scopes: allowed, firstParty, budget: appBudget }: AppRights,
    expiresAt: number,
  ): Awaitable<Principal | null> {
    const granted = scopeSet(scope)
    // A scope that the app no longer has is removed from its tokens too.
    const scopes = allowed === 'all' ? granted : commonScopes(granted, allowed)
    const rights = { app: named, appBudget, thirdParty: !firstParty }
    if (accountId === undefined) return app(clientId, scopes, { ...rights, grant: null })
    const id = Number(accountId)
    const { accessSeconds, refreshSeconds } = this.#options
    // The grant lasts as long as the app can wait before its next refresh.
    const end = granted.has('offline_access')
      ? expiresAt + (refreshSeconds - accessSeconds) * 1000
      : expiresAt
    const grant = grantHash === undefined ? null : `grant:${grantHash}`
    const delegate = { ...rights, grant }
    return then(this.#roleOf(id), role => {
      if (role === undefined) return null
      const principal = user(id, role, scopes, `user:${id}:app:${clientId}`, end, delegate)
      // Its user was not asked for consent, so writes that grant access need a recent sign-in.
      return firstParty ? { ...principal, signedInAt: authTime * 1000 } : principal
    })
  }

  /** Throws UNAUTHORIZED if the account is disabled. */
  #roleOf(id: number): Awaitable<string | undefined> {
    const { run, version } = this.#options
    const usersVersion = version('users')
    const cachedRole = this.#roles.get(id, usersVersion)
    if (cachedRole !== undefined) return cachedRole
    return then(readItem<CredentialOwner>(run, credentialOwnerById, id), user => {
      if (user?.disabled) throw disabledCredential()
      if (user) this.#roles.set(id, user.role, 1, usersVersion)
      return user?.role
    })
  }
}

function withGrantHash({ grantId, ...token }: StoredToken): Token {
  return grantId === undefined ? token : { ...token, grantHash: grantHash(grantId) }
}

function unboundPrincipal(accepted: BoundPrincipal | null, { method }: CredentialSource): Principal | null {
  if (accepted === null) return null
  if (accepted.jkt === undefined) return accepted.principal
  if (method === undefined) throw webSocketMessageRefusal()
  throw dpopRefusal(
    'invalid_token',
    'The token is bound to a key',
    'Send it as `DPoP …`, with a proof in the header `DPoP`.',
  )
}

function webSocketMessageRefusal(): Error {
  return dpopRefusal(
    'invalid_token',
    'The token is bound to a key',
    'Send it with its proof in the request that opens the WebSocket, not in a message.',
  )
}
