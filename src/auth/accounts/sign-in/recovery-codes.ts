/** Recovery codes: each replaces a one-time code once, for users who do not have their device. */
import { hash, randomBytes, randomInt } from 'node:crypto'
import type { NewRecord } from '../../../records.ts'

const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

export function newCode(): string {
  const part = () => Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `${part()}-${part()}`
}

/** The hash of a code. It is stored encrypted, because codes are so short that their hashes could be reversed: see `recoveryRecord`. */
export function recoveryHash(userId: number, code: string): string {
  const normalized = code.toLowerCase().replace(/[^a-z0-9]/g, '')
  return hash('sha256', `${userId}:${normalized}`, 'base64url')
}

/** `codeHash`: see `recoveryHash`. `name`: an id that reveals nothing of the code. */
export function recoveryRecord(
  userId: number,
  codeHash: string,
  name = randomBytes(12).toString('base64url'),
): NewRecord {
  const owner = String(userId)
  const id = `${owner}:${name}`
  return { kind: 'RecoveryCode', id, payload: JSON.stringify({ hash: codeHash }), expiresAt: null, owner }
}
