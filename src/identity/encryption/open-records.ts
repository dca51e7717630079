/** Opens the records of a database: finds and checks the keys, and rotates them. */
import type { Records, StoredRecord } from '../../base/records.ts'
import { EncryptedRecords, encryptedKinds, nameOf } from './encrypted-records.ts'
import {
  createKeyFile,
  isReadableByOthers,
  KeyFile,
  keyFileOf,
  readKeyFile,
  withKeyFileLocked,
  writeKeyFile,
} from './key-file.ts'
import { EncryptionError, type KeySource, newKeyText, RecordCipher, secretKey } from './record-cipher.ts'

export interface EncryptionParts {
  readonly records: Records
  /** The setting `secretKeys`; undefined: the keys are in the file next to the database. */
  readonly keys: readonly string[] | undefined
  readonly database: string
  /** Called with a sentence for the operator. */
  readonly note: (sentence: string) => void
}

const batchSize = 500

/** Stored by the first start, before any secret. Only the right keys decrypt it. */
const checkKey = { kind: 'EncryptionCheck', id: 'check' } as const
const checkText = '"encrypted"'

/** Undefined for PostgreSQL: its nodes share the database, and each would create its own key. */
function keyFileFor(database: string): string | undefined {
  return /^[a-z][a-z0-9+]+:\/\//i.test(database) ? undefined : keyFileOf(database)
}

const howToGenerate = 'Generate one with `portico secrets generate`, and set it on every node.'
const whereItIs =
  'This one has a key: take that of its other nodes or, for a copy, the one in the key file of the copied database.'

function sourceOf({ keys, database, note }: EncryptionParts, isNew: boolean): KeySource {
  if (keys) return fixedKeys(keys)
  const file = keyFileFor(database)
  if (file === undefined) {
    throw new EncryptionError(
      `PORTICO_SECRET_KEY must be set: secrets in a PostgreSQL database are encrypted with a key that all nodes share. ${isNew ? howToGenerate : whereItIs}`,
    )
  }
  const keyTexts = readKeyFile(file)
  if (!keyTexts && !isNew) {
    throw new EncryptionError(
      `The key file ${file} is missing, and the database is encrypted with its key: restore it from a backup, or set the key as PORTICO_SECRET_KEY.`,
    )
  }
  if (!keyTexts) note(`created the key file ${file}: back it up, apart from the database`)
  const source = new KeyFile(file, keyTexts ?? createKeyFile(file))
  if (isReadableByOthers(file)) note(`the key file ${file} can be read by other users: \`chmod 600\` it`)
  return source
}

/** The records with encrypted secrets. Throws an `EncryptionError` if the keys are not those of this database. */
export async function openRecords(parts: EncryptionParts): Promise<EncryptedRecords> {
  const { records } = parts
  const stored = await records.get(checkKey.kind, checkKey.id)
  const recordCipher = new RecordCipher(sourceOf(parts, stored === undefined))
  const encrypted = new EncryptedRecords(records, recordCipher)
  if (!stored) {
    const payload = recordCipher.encrypt(nameOf(checkKey), checkText)
    if (await records.add({ ...checkKey, payload, expiresAt: null })) return encrypted
  }
  const check = stored ?? (await records.get(checkKey.kind, checkKey.id))
  requireMatchingKey(recordCipher, check?.payload ?? '')
  return encrypted
}

function requireMatchingKey(recordCipher: RecordCipher, payload: string): void {
  try {
    if (recordCipher.decrypt(nameOf(checkKey), payload) === checkText) return
  } catch (error) {
    if (!(error instanceof EncryptionError)) throw error
  }
  throw new EncryptionError(
    'The database is encrypted with a key that is not among the given ones. Set the right key in PORTICO_SECRET_KEY, or restore the key file next to the database.',
  )
}

/** Every record of a kind, in batches. */
async function* batchesOf(records: Records, kind: string): AsyncGenerator<readonly StoredRecord[]> {
  for (let id = ''; ; ) {
    const batch = await records.after(kind, id, batchSize)
    if (batch.length > 0) yield batch
    if (batch.length < batchSize) return
    id = batch.at(-1)?.id ?? ''
  }
}

/** Calls `work` for every record of the kinds, each batch in one commit. Returns how often it returned true. */
async function countEach(
  records: Records,
  kinds: Iterable<string>,
  work: (record: StoredRecord) => Promise<boolean>,
): Promise<number> {
  let count = 0
  for (const kind of kinds) {
    for await (const batch of batchesOf(records, kind)) {
      count += (await Promise.all(batch.map(work))).filter(done => done).length
    }
  }
  return count
}

/** Encrypts every secret with the newest key. Returns the number of secrets that had been encrypted with another key. */
export function reencryptAll(records: Records, recordCipher: RecordCipher): Promise<number> {
  return countEach(records, [...encryptedKinds, checkKey.kind], async ({ kind, id, payload }) => {
    if (recordCipher.isCurrent(payload)) return false
    const name = nameOf({ kind, id })
    // A record that has changed in the meantime was encrypted with the newest key.
    return records.swap(
      { kind, id },
      payload,
      recordCipher.encrypt(name, recordCipher.decrypt(name, payload)),
    )
  })
}

export interface KeyRotation {
  /** The records as they are stored. */
  readonly records: Records
  readonly keys: readonly string[] | undefined
  readonly database: string
  /** Resolves when running services have noticed a new key. */
  readonly wait: () => Promise<void>
}

function requireKeys(file: string): readonly string[] {
  const keys = readKeyFile(file)
  if (keys) return keys
  throw new EncryptionError(
    `There is no key file ${file}: the first start creates it, or a backup contains it.`,
  )
}

/**
 * Encrypts every secret with the first key of the setting, or with a new key, which is added to the key file. Older keys
 * still decrypt. Returns how many records were encrypted again.
 */
export async function rotateSecrets({ records, keys, database, wait }: KeyRotation): Promise<number> {
  if (keys) return reencryptAll(records, cipherOf(keys))
  const file = keyFileFor(database)
  if (file === undefined) throw new EncryptionError('There is no key in PORTICO_SECRET_KEY.')
  return withKeyFileLocked(file, async () => {
    const keyTexts = [newKeyText(), ...requireKeys(file)]
    writeKeyFile(file, keyTexts)
    await wait()
    return reencryptAll(records, cipherOf(keyTexts))
  })
}

/** Removes all keys but the newest from the file, once no record needs them. Returns how many. */
export async function forgetSecrets({ records, keys, database }: KeyRotation): Promise<number> {
  const file = keyFileFor(database)
  if (keys || file === undefined) {
    throw new EncryptionError(
      'The keys are in PORTICO_SECRET_KEY: after `portico secrets rotate`, leave only the first one there.',
    )
  }
  return withKeyFileLocked(file, async () => {
    const keyTexts = requireKeys(file)
    await reencryptAll(records, cipherOf(keyTexts))
    writeKeyFile(file, keyTexts.slice(0, 1))
    return keyTexts.length - 1
  })
}

function cipherOf(keyTexts: readonly string[]): RecordCipher {
  return new RecordCipher(fixedKeys(keyTexts))
}

function fixedKeys(keyTexts: readonly string[]): KeySource {
  const keys = keyTexts.map(secretKey)
  return { keys: () => keys }
}
