/** OAuth access tokens as credentials: token → Principal. Opaque ones, and JWTs of our own. */
import { hash } from 'node:crypto'
import { type Awaitable, type ItemAnswer, then } from '../plan/answer.ts'
import type { ItemShape } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import { app, type Principal, system, user } from '../principal.ts'
import type { Records, StoredRecord } from '../records.ts'
import type { CredentialReader } from './authenticate.ts'
import { jwtPart, looksLikeJwt, TokenSigner } from './server/jwt.ts'
import { keysVersion, loadKeys } from './server/keys.ts'

const MAX_REMEMBERED = 100_000

/** What the library makes of 256 random bits. */
const opaque = /^[A-Za-z0-9_-]{43}$/

const userById: ItemShape = {
  kind: 'item',
  collection: 'users',
  id: 0,
  select: [{ kind: 'field', key: 'role', field: 'role' }],
}

/** What is stored of an access token. */
interface StoredToken {
  readonly clientId: string
  readonly accountId?: string
  readonly grantId?: string
  readonly scope?: string
  /** The key that its sender must prove to have (RFC 9449, 6): then it is no bearer token. */
  readonly jkt?: string
}

/** A token's principal, remembered while nothing that it depends on has changed. */
interface Remembered {
  readonly principal: Principal
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly stamp: number
}

export interface AccessTokenOptions {
  readonly run: Run
  readonly records: Records
  /** See `Store.version`. */
  readonly version: (collection: string) => number
  /** Whether an app of this client id is there. */
  readonly isApp: (clientId: string) => Awaitable<boolean>
  /** Undefined while it is not known where the service is reached. */
  readonly issuer: () => string | undefined
  readonly now?: () => number
}

/** Reads access tokens. A revoked one works no more once the store's versions tell, on every process. */
export function accessTokenReader(options: AccessTokenOptions): CredentialReader {
  const reader = new AccessTokenReader(options)
  return { read: ({ place, text }) => (place === 'bearer' ? reader.read(text) : undefined) }
}

class AccessTokenReader {
  readonly #options: AccessTokenOptions
  readonly #now: () => number
  readonly #known = new Map<string, Remembered>()
  #signer: { readonly version: number; readonly signer: TokenSigner } | undefined

  constructor(options: AccessTokenOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  read(text: string): Awaitable<Principal | null> | undefined {
    const isJwt = text.includes('.')
    if (!isJwt && !opaque.test(text)) return undefined
    // Only what was ours is known, so a JWT that is need not be looked into again.
    const key = hash('sha256', text, 'base64url')
    const stamp = this.#stamp()
    const known = this.#known.get(key)
    if (known?.stamp === stamp && known.expiresAt > this.#now()) return known.principal
    if (isJwt && !this.#isOurs(text)) return undefined
    if (!isJwt) return this.#find(key, key, stamp)
    return then(this.#jti(text), jti => (jti === undefined ? null : this.#find(key, jti, stamp)))
  }

  /** Changes whenever a token, a grant, an app or a user may have: each version only grows. */
  #stamp(): number {
    const { records, version } = this.#options
    return (
      records.version('AccessToken') +
      records.version('ClientCredentials') +
      records.version('Grant') +
      version('users') +
      version('oauth_apps') +
      keysVersion(records)
    )
  }

  #isOurs(text: string): boolean {
    return looksLikeJwt(text) && jwtPart(text, 1)?.iss === this.#options.issuer()
  }

  #jti(text: string): Awaitable<string | undefined> {
    const issuer = this.#options.issuer()
    if (issuer === undefined) return undefined
    return then(this.#currentSigner(), signer => signer.verify(text, issuer, this.#now())?.jti)
  }

  #currentSigner(): Awaitable<TokenSigner> {
    const { records } = this.#options
    const version = keysVersion(records)
    if (this.#signer?.version === version) return this.#signer.signer
    return loadKeys(records).then(keys => {
      const signer = new TokenSigner(keys)
      this.#signer = { version, signer }
      return signer
    })
  }

  #find(key: string, id: string, stamp: number): Awaitable<Principal | null> {
    const { records } = this.#options
    this.#known.delete(key)
    return then(records.get('AccessToken', id), ofUser => {
      if (ofUser) return this.#accept(key, ofUser, stamp)
      return then(records.get('ClientCredentials', id), ofApp =>
        ofApp ? this.#accept(key, ofApp, stamp) : null,
      )
    })
  }

  #accept(key: string, record: StoredRecord, stamp: number): Awaitable<Principal | null> {
    const token = JSON.parse(record.payload) as StoredToken
    if (token.jkt !== undefined) return null
    return then(this.#options.isApp(token.clientId), isApp =>
      then(isApp ? this.#principalOf(token) : null, principal => {
        if (principal) this.#remember(key, { principal, expiresAt: record.expiresAt ?? 0, stamp })
        return principal
      }),
    )
  }

  #principalOf({ clientId, accountId, grantId, scope }: StoredToken): Awaitable<Principal | null> {
    const scopes = new Set((scope ?? '').split(' ').filter(one => one !== ''))
    if (accountId === undefined) return app(clientId, scopes)
    const { records, run } = this.#options
    // A code used twice at once may leave a token whose grant is gone.
    return then(grantId === undefined ? undefined : records.get('Grant', grantId), grant => {
      if (!grant) return null
      const id = Number(accountId)
      return then(run.item({ shape: userById, args: [id] }, system), ({ text }: ItemAnswer) =>
        text === null ? null : user(id, JSON.parse(text).role, scopes, `user:${id}:app:${clientId}`),
      )
    })
  }

  #remember(key: string, entry: Remembered): void {
    if (this.#known.size >= MAX_REMEMBERED) this.#known.delete(this.#known.keys().next().value ?? '')
    this.#known.set(key, entry)
  }
}
