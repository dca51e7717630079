/** JWTs of trusted outside issuers as credentials: checked with their published keys, mapped to an account here. */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose'
import type { Awaitable } from '../plan/answer.ts'
import { type Principal, user } from '../principal.ts'
import type { PlainReader } from './authenticate.ts'
import { jwtPart, looksLikeJwt } from './server/jwt.ts'

export interface OutsideIssuer {
  readonly issuer: string
  readonly jwksUri: string
  readonly audience: string
  /** Which claim names the user. */
  readonly user: 'email' | 'sub'
}

export interface OutsideUser {
  readonly id: number
  readonly role: string
}

export interface OutsideIssuerOptions {
  readonly issuers: readonly OutsideIssuer[]
  /** The JSON document at an address: see `fetchKeys`. */
  readonly fetchKeys: (address: string) => Promise<unknown>
  /** The keys of an issuer cannot be fetched for this reason; undefined: they can again. */
  readonly onChange?: (issuer: string, trouble: string | undefined) => void
  readonly findById: (id: number) => Awaitable<OutsideUser | undefined>
  /** Only an account whose address is known to be its owner's. */
  readonly findByEmail: (email: string) => Awaitable<OutsideUser | undefined>
  /** See `Store.version`. */
  readonly version: (collection: string) => number
  readonly scopes: ReadonlySet<string>
  readonly now?: () => number
}

/** Signatures by a public key only: a shared secret would let whoever checks also sign (RFC 8725, 3.1). */
const algorithms = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519']

/** How long keys are kept, and how soon an unknown one may make them be fetched again, in milliseconds. */
const KEPT = 600_000
const SOONEST = 60_000
/** How long nobody asks after the first failure; after each more twice as long, up to `SOONEST`. */
const FIRST_PAUSE = 1000

const MAX_REMEMBERED = 10_000

/** The last moment that a `datetime` can be: API keys take over the end of the token that makes them. */
const LAST = Date.parse('9999-12-31T23:59:59.999Z')

interface Remembered {
  readonly principal: Principal
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly version: number
}

type KeySet = ReturnType<typeof createLocalJWKSet>

/** The keys of one issuer. Asked for once at a time, and after a failure less and less often. */
class Keys {
  readonly #issuer: OutsideIssuer
  readonly #options: OutsideIssuerOptions
  readonly #now: () => number
  #known: { readonly set: KeySet; readonly at: number } | undefined
  #fetching: Promise<KeySet> | undefined
  #triedAt = Number.NEGATIVE_INFINITY
  /** Since the last success. */
  #failures = 0

  constructor(issuer: OutsideIssuer, options: OutsideIssuerOptions, now: () => number) {
    this.#issuer = issuer
    this.#options = options
    this.#now = now
  }

  /** `again`: the keys that are known lack one. Rejects while there are none. */
  async get(again: boolean): Promise<KeySet> {
    const now = this.#now()
    const known = this.#known !== undefined && now - this.#known.at <= KEPT ? this.#known.set : undefined
    if (known !== undefined && !again) return known
    if (this.#fetching === undefined && now - this.#triedAt > this.#pause()) {
      this.#fetching = this.#fetch().finally(() => {
        this.#fetching = undefined
      })
    }
    const set = (await this.#fetching?.catch(() => undefined)) ?? known
    if (set === undefined) throw new Error('There are no keys.')
    return set
  }

  #pause(): number {
    return this.#failures === 0 ? SOONEST : Math.min(SOONEST, FIRST_PAUSE * 2 ** (this.#failures - 1))
  }

  async #fetch(): Promise<KeySet> {
    const { fetchKeys, onChange } = this.#options
    const { issuer, jwksUri } = this.#issuer
    try {
      const set = createLocalJWKSet((await fetchKeys(jwksUri)) as JSONWebKeySet)
      this.#known = { set, at: this.#now() }
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

export function outsideIssuerReader(options: OutsideIssuerOptions): PlainReader {
  const { version, now = Date.now } = options
  const issuers = new Map(
    options.issuers.map(issuer => [issuer.issuer, { issuer, keys: new Keys(issuer, options, now) }]),
  )
  const known = new Map<string, Remembered>()

  const verified = async (
    text: string,
    issuer: OutsideIssuer,
    keys: Keys,
    again = false,
  ): Promise<JWTPayload> => {
    const rules = {
      issuer: issuer.issuer,
      audience: issuer.audience,
      algorithms,
      requiredClaims: ['exp', 'sub'],
      currentDate: new Date(now()),
    }
    try {
      return (await jwtVerify(text, await keys.get(again), rules)).payload
    } catch (error) {
      if (again || !(error instanceof errors.JWKSNoMatchingKey)) throw error
      return verified(text, issuer, keys, true)
    }
  }
  const check = async (text: string, issuer: OutsideIssuer, keys: Keys) => {
    const at = version('users')
    const claims = await verified(text, issuer, keys).catch(() => undefined)
    const found = claims && (await userOf(claims, issuer, options))
    if (!claims || !found) return null
    const budget = `user:${found.id}:issuer:${issuer.issuer}`
    const end = Math.min(Number(claims.exp) * 1000, LAST)
    const principal = user(found.id, found.role, scopesOf(claims, options.scopes), budget, end)
    if (known.size >= MAX_REMEMBERED) known.clear()
    // Its issuer may take back the key before the token ends.
    known.set(text, { principal, expiresAt: Math.min(end, now() + KEPT), version: at })
    return principal
  }
  return {
    read({ place, text }) {
      if (place !== 'bearer') return undefined
      const entry = known.get(text)
      if (entry && entry.version === version('users') && entry.expiresAt > now()) return entry.principal
      if (!looksLikeJwt(text)) return undefined
      const { iss } = jwtPart(text, 1) ?? {}
      const trusted = typeof iss === 'string' ? issuers.get(iss) : undefined
      return trusted && check(text, trusted.issuer, trusted.keys)
    },
  }
}

/** An address counts only where the issuer says that it has verified it. */
function userOf(
  { sub, email, email_verified: isVerified }: JWTPayload,
  issuer: OutsideIssuer,
  { findById, findByEmail }: OutsideIssuerOptions,
): Awaitable<OutsideUser | undefined> {
  if (issuer.user === 'sub') return /^[1-9]\d{0,15}$/.test(sub ?? '') ? findById(Number(sub)) : undefined
  if (isVerified !== true || typeof email !== 'string') return undefined
  return findByEmail(email.toLowerCase())
}

/** What the token says and this service knows: `scope` (RFC 9068, 2.2.3), or `scp` as a list. */
function scopesOf({ scope, scp }: JWTPayload, known: ReadonlySet<string>): ReadonlySet<string> {
  const named = typeof scope === 'string' ? scope.split(' ') : Array.isArray(scp) ? scp.map(String) : []
  return new Set(named.filter(one => known.has(one)))
}
