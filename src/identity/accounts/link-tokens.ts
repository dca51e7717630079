/** One-time tokens in links and forms. Only their hashes are stored. */
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { Records } from '../../base/records.ts'
import { randomSecret, secretHash } from '../server/secret.ts'

/** Each kind has its own records, so a token for one purpose cannot be used for another. */
export type TokenKind =
  | 'PasswordReset'
  | 'AddressVerification'
  | 'PendingAccount'
  /** On the page after a sign-up: sends its link again. */
  | 'SignUpAgain'
  | 'SecondFactor'
  | 'PasskeyChallenge'
  /** Between the start of a sign-in with a provider and its callback. */
  | 'ProviderSignIn'
  /** The person that a provider has signed in, until there is a session. */
  | 'ProviderResult'
  /** An identity that the owner of an account may link to it. */
  | 'IdentityOffer'

const minuteMs = 60_000

const lifetimesMs: Readonly<Record<TokenKind, number>> = {
  PasswordReset: 60 * minuteMs,
  AddressVerification: 24 * 60 * minuteMs,
  PendingAccount: 24 * 60 * minuteMs,
  SignUpAgain: 60 * minuteMs,
  SecondFactor: 5 * minuteMs,
  PasskeyChallenge: 5 * minuteMs,
  ProviderSignIn: 10 * minuteMs,
  ProviderResult: 10 * minuteMs,
  IdentityOffer: 30 * minuteMs,
}

/** The lifetime of a token of the kind. */
export function lifetimeMinutes(kind: TokenKind): number {
  return lifetimesMs[kind] / minuteMs
}

/** Also of tokens that were generated elsewhere. */
export const tokenForm = /^[A-Za-z0-9_-]{20,128}$/

export interface TokenOptions {
  readonly owner?: string | undefined
  /** A token that was generated elsewhere, e.g. a challenge; omitted: a random one. */
  readonly token?: string
}

export interface LinkTokens {
  /** Stores `payload` under a new token, and returns the token. */
  issue(kind: TokenKind, payload: object, options?: TokenOptions): Promise<string>
  /** The payload of the token; undefined if the token is wrong, used or expired. Does not consume the token. */
  peek<T>(kind: TokenKind, token: string | undefined): Promise<T | undefined>
  /** Like `peek`, but consumes the token: of several concurrent calls, exactly one gets the payload. */
  redeem<T>(kind: TokenKind, token: string | undefined): Promise<T | undefined>
}

export function createTokens(records: Records, now: () => EpochMs = Date.now): LinkTokens {
  const find = async (kind: TokenKind, token: string | undefined) => {
    if (token === undefined || !tokenForm.test(token)) return undefined
    const record = await records.get(kind, secretHash(token))
    return record && record.consumedAt === null ? record : undefined
  }
  return {
    async issue(kind, payload, { owner, token = randomSecret() } = {}) {
      const expiresAt = now() + lifetimesMs[kind]
      await records.put({ kind, id: secretHash(token), payload: JSON.stringify(payload), expiresAt, owner })
      return token
    },
    async peek(kind, token) {
      const record = await find(kind, token)
      return record && JSON.parse(record.payload)
    },
    async redeem(kind, token) {
      const record = await find(kind, token)
      if (!record || !(await records.consume(kind, record.id))) return undefined
      return JSON.parse(record.payload)
    },
  }
}
