/** Opens the records of a database: finds and checks the keys, and encrypts what versions without encryption have stored. */
import type { Records, StoredRecord } from '../../records.ts'
import { recoveryRecord } from '../accounts/sign-in/recovery-codes.ts'
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
import {
  EncryptionError,
  isEncrypted,
  type KeySource,
  newKeyText,
  RecordCipher,
  secretKey,
} from './record-cipher.ts'

export interface EncryptionParts {
  readonly records: Records
  /** The setting `secretKeys`; undefined: the keys are in the file beside the database. */
  readonly keys: readonly string[] | undefined
  readonly database: string
  /** Called with a sentence for the operator. */
  readonly note: (sentence: string) => void
  /** See `Store.rewrite`. */
  readonly rewrite: () => Promise<void>
}

const batchSize = 500

/** Stored when every secret is encrypted. Only the right keys decrypt it. */
const markerKey = { kind: 'Sealing', id: 'proof' } as const
const markerText = '"sealed"'

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
  const stored = await records.get(markerKey.kind, markerKey.id)
  const recordCipher = new RecordCipher(sourceOf(parts, stored === undefined))
  const encrypted = new EncryptedRecords(records, recordCipher)
  if (!stored) {
    if (await hasAny(records)) await encryptExisting(parts, encrypted, recordCipher)
    const payload = recordCipher.encrypt(nameOf(markerKey), markerText)
    if (await records.add({ ...markerKey, payload, expiresAt: null })) return encrypted
  }
  const marker = stored ?? (await records.get(markerKey.kind, markerKey.id))
  requireMatchingKey(recordCipher, marker?.payload ?? '')
  return encrypted
}

async function hasAny(records: Records): Promise<boolean> {
  for (const kind of encryptedKinds) if ((await records.after(kind, '', 1)).length > 0) return true
  return false
}

/** For a database of a version without encryption, or one whose first start with encryption did not finish. */
async function encryptExisting(
  { records, note, rewrite }: EncryptionParts,
  encrypted: EncryptedRecords,
  recordCipher: RecordCipher,
): Promise<void> {
  const count = await encryptPlain(records, encrypted, recordCipher)
  if (count > 0) {
    note(
      `encrypted ${count} secrets that were stored as plain text: earlier copies and backups still contain them, so run \`portico keys rotate\``,
    )
  }
  await rewrite().catch(error =>
    note(`the database file may still contain traces of them, because it could not be rewritten: ${error}`),
  )
}

function requireMatchingKey(recordCipher: RecordCipher, payload: string): void {
  try {
    if (recordCipher.decrypt(nameOf(markerKey), payload) === markerText) return
  } catch (error) {
    if (!(error instanceof EncryptionError)) throw error
  }
  throw new EncryptionError(
    'The database is encrypted with a key that is not among the given ones. Set the right key in PORTICO_SECRET_KEY, or restore the key file beside the database.',
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

/**
 * Encrypts what a version without encryption has stored. Several processes may do so at once, and each finishes what
 * another has started. Returns how many secrets this process has encrypted.
 */
function encryptPlain(
  records: Records,
  encrypted: EncryptedRecords,
  recordCipher: RecordCipher,
): Promise<number> {
  return countEach(records, encryptedKinds, async record => {
    const { kind, id, payload } = record
    if (isEncrypted(payload)) return false
    if (kind === 'DeviceCode') {
      // Its alias would stay readable, and it expires within minutes.
      await records.delete(kind, id)
      return false
    }
    if (kind === 'RecoveryCode') return migrateRecoveryCode(record, records, encrypted, recordCipher)
    return records.swap({ kind, id }, payload, recordCipher.encrypt(nameOf(record), payload))
  })
}

/**
 * Gives a recovery code another id: the old one is a hash of so few characters that it could be guessed. The new id is the
 * same in every process.
 */
async function migrateRecoveryCode(
  { kind, id, owner, consumedAt }: StoredRecord,
  records: Records,
  encrypted: EncryptedRecords,
  recordCipher: RecordCipher,
): Promise<boolean> {
  const [name] = recordCipher.pseudonyms(nameOf({ kind, id }))
  // If the record no longer exists, another process has moved it, and the code may have been used since.
  if (consumedAt === null && (await records.get(kind, id)))
    await encrypted.add(recoveryRecord(Number(owner), [id], name))
  return records.delete(kind, id)
}

/** Encrypts every secret with the newest key. Returns the number of secrets that had been encrypted with another key. */
export function reencryptAll(records: Records, recordCipher: RecordCipher): Promise<number> {
  return countEach(records, [...encryptedKinds, markerKey.kind], async ({ kind, id, payload }) => {
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
