/** Recovery codes, each good for one sign-in without the device that makes one-time codes. */
import { hash, randomBytes, randomInt } from 'node:crypto'
import type { NewRecord } from '../../records.ts'

const letters = 'abcdefghjkmnpqrstuvwxyz23456789'

export function newCode(): string {
  const part = () => Array.from({ length: 5 }, () => letters[randomInt(letters.length)]).join('')
  return `${part()}-${part()}`
}

/** Of too few characters to be stored as it is: see `recoveryRecord`. */
export function recoveryHash(userId: number, code: string): string {
  const typed = code.toLowerCase().replace(/[^a-z0-9]/g, '')
  return hash('sha256', `${userId}:${typed}`, 'base64url')
}

/** `hashed`: see `recoveryHash`; `name`: tells nothing of it. */
export function recoveryRecord(
  userId: number,
  hashed: string,
  name = randomBytes(12).toString('base64url'),
): NewRecord {
  const owner = String(userId)
  const id = `${owner}:${name}`
  return { kind: 'RecoveryCode', id, payload: JSON.stringify({ hash: hashed }), expiresAt: null, owner }
}
