/** Recovery codes: each replaces a one-time code once, for users who do not have their device. */
import { hash, randomInt } from 'node:crypto'
import type { NewRecord, Records, StoredRecord } from '../../../records.ts'
import { isSame } from '../../server/secret.ts'

export const recoveryKind = 'RecoveryCode'
const recoveryCodeCount = 10

const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

function newCode(): string {
  const part = () => Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `${part()}-${part()}`
}

/** The hash of a code. It is stored encrypted, because codes are so short that their hashes could be reversed: see `recoveryRecord`. */
export function recoveryHash(userId: number, code: string): string {
  const normalized = code.toLowerCase().replace(/[^a-z0-9]/g, '')
  return hash('sha256', `${userId}:${normalized}`, 'base64url')
}

/**
 * The record of codes that replace each other together: with one record each, two concurrent replacements would both be valid.
 * `codeHashes`: see `recoveryHash`. `id`: reveals nothing of the codes.
 */
export function recoveryRecord(
  userId: number,
  codeHashes: readonly string[],
  id = String(userId),
): NewRecord & { readonly owner: string } {
  return { kind: recoveryKind, id, payload: payloadOf(codeHashes), expiresAt: null, owner: String(userId) }
}

function payloadOf(hashes: readonly string[]): string {
  return JSON.stringify({ hashes })
}

/** The hashes of the unused codes. Earlier versions stored a record for each code, and consumed it. */
function hashesIn({ payload, consumedAt }: StoredRecord): readonly string[] {
  if (consumedAt !== null) return []
  const { hashes, hash: single }: { readonly hashes?: readonly string[]; readonly hash?: string } =
    JSON.parse(payload)
  return hashes ?? (single === undefined ? [] : [single])
}

export async function countRecoveryCodes(records: Records, userId: number): Promise<number> {
  return (await records.byOwner(recoveryKind, String(userId))).flatMap(hashesIn).length
}

/** Of concurrent calls, the codes of the last one are valid, and no others. */
export async function replaceRecoveryCodes(records: Records, userId: number): Promise<readonly string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, newCode)
  const current = recoveryRecord(
    userId,
    codes.map(code => recoveryHash(userId, code)),
  )
  await records.put(current)
  for (const { id } of await records.byOwner(recoveryKind, current.owner))
    if (id !== current.id) await records.delete(recoveryKind, id)
  return codes
}

/** Whether the code is right and was unused. Marks it as used. */
export async function useRecoveryCode(records: Records, userId: number, code: string): Promise<boolean> {
  const enteredHash = recoveryHash(userId, code)
  for (;;) {
    const stored = await records.byOwner(recoveryKind, String(userId))
    // Compares all codes, so that timing does not reveal which one matches.
    const [match] = stored.filter(
      record => hashesIn(record).filter(hash => isSame(hash, enteredHash)).length > 0,
    )
    if (match === undefined) return false
    const remaining = hashesIn(match).filter(hash => !isSame(hash, enteredHash))
    // Otherwise another code was used, or all were replaced, in the meantime.
    if (await records.swap(match, match.payload, payloadOf(remaining))) return true
  }
}
