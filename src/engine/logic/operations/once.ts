/** `once`: a transaction that takes effect once for its key, which commits with it. */
import { createHash } from 'node:crypto'
import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { NewRecord } from '../../../base/records.ts'

const onceKind = 'OnceKey'
const maxKeyCharacters = 1000

/**
 * The record of a key. `key`: as the code gives it, for the whole model; undefined: the call's own key, for its place. Throws
 * a `TypeError` for a key that cannot be used.
 */
export function onceRecord(
  place: string,
  key: string | undefined,
  ownKey: string | undefined,
  expiresAt: EpochMs,
): NewRecord {
  const isOwn = key === undefined && ownKey !== undefined
  if (!isOwn && (typeof key !== 'string' || key === '' || key.length > maxKeyCharacters)) {
    throw new TypeError(`once: the key must be a text of 1 to ${maxKeyCharacters} characters.`)
  }
  // Hashed: strangers may have chosen it, and it may name a secret or a person.
  const id = createHash('sha256').update(JSON.stringify(isOwn ? [place, ownKey] : [key]))
  return { kind: onceKind, id: id.digest('hex'), payload: '{}', expiresAt }
}
