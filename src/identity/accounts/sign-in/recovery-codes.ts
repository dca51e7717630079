/** Recovery codes: each replaces a one-time code once, for users who do not have their device. */
import { hash, randomInt } from 'node:crypto'
import type { Records, StoredRecord } from '../../../base/records.ts'
import { isSame } from '../../server/secret.ts'

export const recoveryKind = 'RecoveryCode'
const recoveryCodeCount = 10

const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

function newCode(): string {
  const part = () => Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `${part()}-${part()}`
}

/** The hash of a code. It is stored encrypted, because codes are so short that their hashes could be reversed. */
function recoveryHash(userId: number, code: string): string {
  const normalized = code.toLowerCase().replace(/[^a-z0-9]/g, '')
  return hash('sha256', `${userId}:${normalized}`, 'base64url')
}

/** The hashes of the unused codes: in one record, because with one each, two concurrent replacements would both be valid. */
function payloadOf(hashes: readonly string[]): string {
  return JSON.stringify({ hashes })
}

function hashesIn({ payload }: StoredRecord): readonly string[] {
  return (JSON.parse(payload) as { readonly hashes: readonly string[] }).hashes
}

export async function countRecoveryCodes(records: Records, userId: number): Promise<number> {
  const record = await records.get(recoveryKind, String(userId))
  return record ? hashesIn(record).length : 0
}

/** Of concurrent calls, the codes of the last one are valid, and no others. */
export async function replaceRecoveryCodes(records: Records, userId: number): Promise<readonly string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, newCode)
  const payload = payloadOf(codes.map(code => recoveryHash(userId, code)))
  const owner = String(userId)
  await records.put({ kind: recoveryKind, id: owner, payload, expiresAt: null, owner })
  return codes
}

/** Whether the code is right and was unused. Marks it as used. */
export async function useRecoveryCode(records: Records, userId: number, code: string): Promise<boolean> {
  const enteredHash = recoveryHash(userId, code)
  for (;;) {
    const stored = await records.get(recoveryKind, String(userId))
    if (!stored) return false
    const hashes = hashesIn(stored)
    // Compares all codes, so that timing does not reveal which one matches.
    const remaining = hashes.filter(hash => !isSame(hash, enteredHash))
    if (remaining.length === hashes.length) return false
    // Otherwise another code was used, or all were replaced, in the meantime.
    if (await records.swap(stored, stored.payload, payloadOf(remaining))) return true
  }
}
