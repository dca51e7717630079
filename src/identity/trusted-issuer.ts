/** JWTs of trusted issuers as credentials: verified with the issuer's published keys, mapped to a local account. */

import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose'
import type { Awaitable } from '../base/awaitable.ts'
import { Cache, CacheBound } from '../base/cache.ts'
import type { EpochMs } from '../base/epoch-ms.ts'
import { ApiError } from '../base/errors.ts'
import { type Claims, type Principal, user } from '../base/principal.ts'
import { isStorable } from '../model/fields/textual.ts'
import { emailFrom } from './accounts/providers/claims.ts'
import type { PlainReader } from './authenticate.ts'
import { disabledCredential } from './disabled-account.ts'
import { jwtPart, looksLikeJwt } from './server/tokens/jwt.ts'

export interface TrustedIssuer {
  readonly issuer: string
  readonly jwksUri: string
  readonly audience: string
  /** The claim that identifies the user. */
  readonly user: 'email' | 'sub'
}

/** The account of this service for which a token stands. */
export interface LocalUser {
  readonly id: number
  readonly role: string
  readonly disabled: boolean
}

export interface TrustedIssuerOptions {
  readonly issuers: readonly TrustedIssuer[]
  /** The JSON document at an address: see `fetchKeys`. */
  readonly fetchKeys: (address: string) => Promise<unknown>
  /** Called when an issuer's keys cannot be fetched, with the reason; with undefined when they can be fetched again. */
  readonly onChange?: (issuer: string, failure: string | undefined) => void
  readonly findById: (id: number) => Awaitable<LocalUser | undefined>
  /** Finds only accounts whose address is proven. `email`: in lower case. */
  readonly findByEmail: (email: string) => Awaitable<LocalUser | undefined>
  /** See `Store.version`. */
  readonly version: (collection: string) => number
  readonly scopes: ReadonlySet<string>
  /** The claims that rules name. No others are kept. */
  readonly claims: readonly string[]
  readonly now?: () => number
}

/** Asymmetric algorithms only: with a shared secret every verifier could sign (RFC 8725, 3.1). */
const algorithms = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519']

/** How long keys are cached, and the shortest time between two fetches because of an unknown key. */
const maxKeyAgeMs = 600_000
const minRefetchMs = 60_000
/** The pause after the first failure. It doubles with each further one, up to `minRefetchMs`. */
const firstRetryMs = 1000

/** How far an issuer's clock may be ahead (RFC 7519, 4.1.5). A token that has expired is never accepted. */
const clockToleranceSeconds = 30

const maxCachedTokens = 10_000

/** At most this many of an issuer's keys are tried for a token without `kid`. */
const maxKeysTried = 10

/** The latest `datetime`: API keys get the expiry of the token that creates them. */
const latestDatetimeMs = Date.parse('9999-12-31T23:59:59.999Z')

interface CachedPrincipal {
  readonly principal: Principal
  readonly expiresAt: EpochMs
}

type KeySet = ReturnType<typeof createLocalJWKSet>

/** The keys of one issuer, fetched by one request at a time, and with exponential back-off after failures. */
class IssuerKeys {
  readonly #issuer: TrustedIssuer
  readonly #options: TrustedIssuerOptions
  readonly #now: () => number
  #cached: { readonly set: KeySet; readonly fetchedAt: number } | undefined
  #fetching: Promise<KeySet> | undefined
  #triedAt = Number.NEGATIVE_INFINITY
  /** Failures since the last success. */
  #failures = 0

  constructor(issuer: TrustedIssuer, options: TrustedIssuerOptions, now: () => number) {
    this.#issuer = issuer
    this.#options = options
    this.#now = now
  }

  /** `refresh`: the cached keys lack the one that is needed. Rejects while there are no keys. */
  async get(refresh: boolean): Promise<KeySet> {
    const now = this.#now()
    const cached =
      this.#cached !== undefined && now - this.#cached.fetchedAt <= maxKeyAgeMs ? this.#cached.set : undefined
    if (cached !== undefined && !refresh) return cached
    if (this.#fetching === undefined && now - this.#triedAt > this.#pause()) {
      this.#fetching = this.#fetch().finally(() => {
        this.#fetching = undefined
      })
    }
    const set = (await this.#fetching?.catch(() => undefined)) ?? cached
    if (set === undefined) throw new Error('There are no keys.')
    return set
  }

  #pause(): number {
    return this.#failures === 0
      ? minRefetchMs
      : Math.min(minRefetchMs, firstRetryMs * 2 ** (this.#failures - 1))
  }

  async #fetch(): Promise<KeySet> {
    const { fetchKeys, onChange } = this.#options
    const { issuer, jwksUri } = this.#issuer
    try {
      const set = createLocalJWKSet((await fetchKeys(jwksUri)) as JSONWebKeySet)
      this.#cached = { set, fetchedAt: this.#now() }
      if (this.#failures > 0) onChange?.(issuer, undefined)
      this.#failures = 0
      return set
    } catch (error) {
      if (this.#failures === 0) onChange?.(issuer, (error as Error).message)
      this.#failures++
      throw error
    } finally {
      this.#triedAt = this.#now()
    }
  }
}

/** RFC 7515, 4.1.4: `kid` is optional. Without it, every suitable key is tried; during a rotation there are two. */
async function verifyWithAny(
  text: string,
  keys: errors.JWKSMultipleMatchingKeys,
  rules: JWTVerifyOptions,
): Promise<JWTPayload> {
  let attempts = 0
  for await (const key of keys) {
    if (++attempts > maxKeysTried) break
    const verified = await jwtVerify(text, key, rules).catch(error => {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error
    })
    if (verified) return verified.payload
  }
  throw new errors.JWSSignatureVerificationFailed()
}

/** Without `kid`, a new key shows only by signatures that no known key has made. */
function mayLackKey(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed
}

/**
 * Reads the JWTs (RFC 7519) of trusted issuers: undefined for a token of another issuer, null for one that is not
 * valid or has no account here. Throws UNAUTHORIZED if the account is disabled.
 */
export function trustedIssuerReader(options: TrustedIssuerOptions): PlainReader {
  const { version, now = Date.now } = options
  const issuers = new Map(
    options.issuers.map(issuer => [issuer.issuer, { issuer, keys: new IssuerKeys(issuer, options, now) }]),
  )
  const tokens = new Cache<string, CachedPrincipal>(new CacheBound('trusted_issuer_tokens', maxCachedTokens))

  const verifyWith = async (text: string, issuer: TrustedIssuer, set: KeySet): Promise<JWTPayload> => {
    const rules = {
      issuer: issuer.issuer,
      audience: issuer.audience,
      algorithms,
      requiredClaims: ['exp', 'sub'],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(now()),
    }
    try {
      return (await jwtVerify(text, set, rules)).payload
    } catch (error) {
      if (error instanceof errors.JWKSMultipleMatchingKeys) return verifyWithAny(text, error, rules)
      throw error
    }
  }
  const verifyWithCurrentKeys = async (
    text: string,
    issuer: TrustedIssuer,
    keys: IssuerKeys,
  ): Promise<JWTPayload> => {
    const set = await keys.get(false)
    try {
      return await verifyWith(text, issuer, set)
    } catch (error) {
      if (!mayLackKey(error)) throw error
      const fetched = await keys.get(true)
      if (fetched === set) throw error
      return verifyWith(text, issuer, fetched)
    }
  }
  const authenticate = async (text: string, issuer: TrustedIssuer, keys: IssuerKeys) => {
    const usersVersion = version('users')
    const claims = await verifyWithCurrentKeys(text, issuer, keys).catch(() => undefined)
    if (claims?.cnf !== undefined) throw boundToken()
    if (Number(claims?.exp) * 1000 <= now()) return null
    const account = claims && (await userOf(claims, issuer, options))
    if (!claims || !account) return null
    if (account.disabled) throw disabledCredential()
    const budget = `user:${account.id}:issuer:${issuer.issuer}`
    const end = Math.min(Number(claims.exp) * 1000, latestDatetimeMs)
    const caller = user(account.id, account.role, scopesOf(claims, options.scopes), budget, end)
    const principal = { ...caller, claims: claimsOf(claims, options.claims) }
    // The issuer may withdraw the key before the token expires.
    tokens.set(text, { principal, expiresAt: Math.min(end, now() + maxKeyAgeMs) }, 1, usersVersion)
    return principal
  }
  return {
    read({ place, text }) {
      if (place !== 'bearer') return undefined
      const cached = tokens.get(text, version('users'))
      if (cached && cached.expiresAt > now()) return cached.principal
      if (!looksLikeJwt(text)) return undefined
      const { iss } = jwtPart(text, 1) ?? {}
      const trusted = typeof iss === 'string' ? issuers.get(iss) : undefined
      return trusted && authenticate(text, trusted.issuer, trusted.keys)
    },
  }
}

/** RFC 7800, 3.1: only the holder of a key may use the token. It is no bearer token (RFC 9449, 7.2; RFC 8705, 3). */
function boundToken(): ApiError {
  const message =
    'The token is bound to a key (`cnf`). Of other issuers, only tokens without one are accepted.'
  return new ApiError('UNAUTHORIZED', message)
}

/** By e-mail address only where the issuer has verified it. */
function userOf(
  { sub, email, email_verified: isVerified }: JWTPayload,
  issuer: TrustedIssuer,
  { findById, findByEmail }: TrustedIssuerOptions,
): Awaitable<LocalUser | undefined> {
  if (issuer.user === 'sub') return /^[1-9]\d{0,15}$/.test(sub ?? '') ? findById(Number(sub)) : undefined
  const address = isVerified === true ? emailFrom(email) : undefined
  return address === undefined ? undefined : findByEmail(address)
}

/** The token's scopes that this service knows: `scope` (RFC 9068, 2.2.3), or else `scp`; issuers write both as texts and as lists. */
function scopesOf({ scope, scp }: JWTPayload, knownScopes: ReadonlySet<string>): ReadonlySet<string> {
  const written = [scope, scp].find(claim => typeof claim === 'string' || Array.isArray(claim))
  const names = [written ?? []].flat().flatMap(text => String(text).split(' '))
  return new Set(names.filter(name => knownScopes.has(name)))
}

/** A longer text equals no field. */
const maxClaimCharacters = 1000

/** The claims that rules name, if their types are those of fields. Undefined if there are none. */
function claimsOf(payload: JWTPayload, names: readonly string[]): Claims | undefined {
  const entries = names.flatMap(name => {
    const value = Object.hasOwn(payload, name) ? payload[name] : undefined
    return isClaim(value) ? [[name, value] as const] : []
  })
  return entries.length === 0 ? undefined : { key: JSON.stringify(entries), values: new Map(entries) }
}

function isClaim(value: unknown): value is string | number | boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value === 'boolean') return true
  return typeof value === 'string' && value.length <= maxClaimCharacters && isStorable(value)
}
