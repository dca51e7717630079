/** Recovery codes. Each can be used once in place of a one-time code, by a user without the device. */
import { hash, randomBytes, randomInt } from 'node:crypto'
import type { NewRecord } from '../../../records.ts'

const letters = 'abcdefghjkmnpqrstuvwxyz23456789'

export function newCode(): string {
  const part = () => Array.from({ length: 5 }, () => letters[randomInt(letters.length)]).join('')
  return `${part()}-${part()}`
}

/** The hash of a code. Codes are so short that a hash could be reversed, so it is stored encrypted: see `recoveryRecord`. */
export function recoveryHash(userId: number, code: string): string {
  const typed = code.toLowerCase().replace(/[^a-z0-9]/g, '')
  return hash('sha256', `${userId}:${typed}`, 'base64url')
}

/** `hashed`: see `recoveryHash`. `name`: an id that reveals nothing of the code. */
export function recoveryRecord(
  userId: number,
  hashed: string,
  name = randomBytes(12).toString('base64url'),
): NewRecord {
  const owner = String(userId)
  const id = `${owner}:${name}`
  return { kind: 'RecoveryCode', id, payload: JSON.stringify({ hash: hashed }), expiresAt: null, owner }
}
