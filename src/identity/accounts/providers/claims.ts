/** Claims of a provider about a person, sanitized: bounded texts of one line. */

import { isLongerThan, streamSafe } from '../../../base/unicode.ts'
import { canonicalEmail } from '../../../model/fields/email.ts'

/** The claims of an ID token, or a response that describes a person. */
export type ProviderClaims = Readonly<Record<string, unknown>>

/** Undefined for inherited properties, e.g. `__proto__`. */
export function claimOf(claims: ProviderClaims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}

const maxNameCharacters = 100
const maxEmailCharacters = 254

/** A name of one line; undefined if it is empty or too long. */
export function nameFrom(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 10 * maxNameCharacters) return undefined
  const plain = streamSafe(value.toWellFormed())
    .replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]+/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim()
  return plain === '' || isLongerThan(plain, maxNameCharacters) ? undefined : plain
}

/**
 * The address in lower case. Only ASCII is accepted: the lower case of some other letters is ASCII, e.g. k for U+212A, the Kelvin
 * sign, so a different address would count as verified.
 */
export function emailFrom(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > maxEmailCharacters) return undefined
  const email = canonicalEmail(value)
  return /^[!-?A-~]{1,64}@[!-?A-~]{1,190}$/.test(email) ? email : undefined
}

/** OpenID Connect Core, 2: at most 255 ASCII characters, compared exactly. */
export function subjectFrom(value: unknown): string | undefined {
  return typeof value === 'string' && /^[ -~]{1,255}$/.test(value) ? value : undefined
}
