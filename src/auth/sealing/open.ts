/** Opens the records of a database for a service: finds the keys, tries them, seals what is still plain. */
import type { Records, StoredRecord } from '../../records.ts'
import { recoveryRecord } from '../accounts/recovery-codes.ts'
import { isReadableByOthers, KeyFile, keyFileOf, makeKeyFile, readKeyFile, writeKeyFile } from './key-file.ts'
import { nameOf, SealedRecords, sealedKinds } from './sealed-records.ts'
import { isSealed, type KeySource, newKeyText, SealError, secretKey, Vault } from './vault.ts'

export interface SealingParts {
  readonly records: Records
  /** The setting `secretKeys`; undefined: the file beside the database. */
  readonly keys: readonly string[] | undefined
  readonly database: string
  /** Something that whoever runs the service should know. */
  readonly note: (sentence: string) => void
  /** See `Store.rewrite`. */
  readonly rewrite: () => Promise<void>
}

/** How many records are looked at together. */
const PART = 500

/** Sealed when everything is; whoever can open it has the right keys. */
const proof = { kind: 'Sealing', id: 'proof' } as const
const PROVEN = '"sealed"'

/** Undefined for a database that is no file: many nodes may share it, and each would make a key of its own. */
function fileOf(database: string): string | undefined {
  return /^[a-z][a-z0-9+]+:\/\//i.test(database) ? undefined : keyFileOf(database)
}

const howToMake = 'Make one with `portico secrets generate` and give it to every node.'

function sourceOf({ keys, database, note }: SealingParts, isNew: boolean): KeySource {
  if (keys) {
    const made = keys.map(secretKey)
    return { keys: () => made }
  }
  const file = fileOf(database)
  if (file === undefined) {
    throw new SealError(
      `PORTICO_SECRET_KEY must be set: secrets in a PostgreSQL database are sealed with a key that all nodes share. ${howToMake}`,
    )
  }
  const known = readKeyFile(file)
  if (!known && !isNew) {
    throw new SealError(
      `The key file ${file} is missing, and the database is sealed with its key: put it back from a backup, or give the key as PORTICO_SECRET_KEY.`,
    )
  }
  if (!known) note(`made the key file ${file}: back it up, apart from the database`)
  const source = new KeyFile(file, known ?? makeKeyFile(file))
  if (isReadableByOthers(file)) note(`the key file ${file} can be read by others: \`chmod 600\` it`)
  return source
}

/** The records, with their secrets sealed. Throws a `SealError` where the keys are not this database's. */
export async function openRecords(parts: SealingParts): Promise<SealedRecords> {
  const { records } = parts
  const stored = await records.get(proof.kind, proof.id)
  const vault = new Vault(sourceOf(parts, stored === undefined))
  const sealed = new SealedRecords(records, vault)
  if (!stored) {
    if (await hasAny(records)) await sealOld(parts, sealed, vault)
    const payload = vault.seal(nameOf(proof), PROVEN)
    if (await records.add({ ...proof, payload, expiresAt: null })) return sealed
  }
  const proven = stored ?? (await records.get(proof.kind, proof.id))
  requireRight(vault, proven?.payload ?? '')
  return sealed
}

async function hasAny(records: Records): Promise<boolean> {
  for (const kind of sealedKinds) if ((await records.after(kind, '', 1)).length > 0) return true
  return false
}

/** A database from before there was sealing, or one whose first start with it has died. */
async function sealOld(
  { records, note, rewrite }: SealingParts,
  sealed: SealedRecords,
  vault: Vault,
): Promise<void> {
  const count = await sealPlain(records, sealed, vault)
  if (count > 0) {
    note(
      `sealed ${count} secrets that lay readable in the database: copies and backups made before still hold them, so run \`portico keys rotate\``,
    )
  }
  await rewrite().catch(error =>
    note(`the database file may still hold traces of them, since it could not be written anew: ${error}`),
  )
}

function requireRight(vault: Vault, payload: string): void {
  try {
    if (vault.open(nameOf(proof), payload) === PROVEN) return
  } catch (error) {
    if (!(error instanceof SealError)) throw error
  }
  throw new SealError(
    'The database is sealed with another key than those given. Give the one that it was sealed with, in PORTICO_SECRET_KEY or in the key file beside the database.',
  )
}

/** Every record of a kind, a part of them at a time. */
async function* partsOf(records: Records, kind: string): AsyncGenerator<readonly StoredRecord[]> {
  for (let id = ''; ; ) {
    const part = await records.after(kind, id, PART)
    if (part.length > 0) yield part
    if (part.length < PART) return
    id = part.at(-1)?.id ?? ''
  }
}

/** Does `work` for every record of the kinds, those of a part in one commit. Returns for how many it was true. */
async function countEach(
  records: Records,
  kinds: Iterable<string>,
  work: (record: StoredRecord) => Promise<boolean>,
): Promise<number> {
  let count = 0
  for (const kind of kinds) {
    for await (const part of partsOf(records, kind)) {
      count += (await Promise.all(part.map(work))).filter(done => done).length
    }
  }
  return count
}

/**
 * Seals what a version without sealing has stored; several processes may be at it, and whatever one has left, the
 * next finds. Returns how many secrets this one has sealed.
 */
function sealPlain(records: Records, sealed: SealedRecords, vault: Vault): Promise<number> {
  return countEach(records, sealedKinds, async record => {
    const { kind, id, payload } = record
    if (isSealed(payload)) return false
    if (kind === 'DeviceCode') {
      // Its second name would stay readable, and it is over in minutes.
      await records.delete(kind, id)
      return false
    }
    if (kind === 'RecoveryCode') return moveCode(record, records, sealed, vault)
    return records.swap({ kind, id }, payload, vault.seal(nameOf(record), payload))
  })
}

/** The id of a plain one is a hash of so few characters that it could be guessed, so it gets another: by all the same. */
async function moveCode(
  { kind, id, owner, consumedAt }: StoredRecord,
  records: Records,
  sealed: SealedRecords,
  vault: Vault,
): Promise<boolean> {
  const [name] = vault.pseudonyms(nameOf({ kind, id }))
  // One that is gone by now was moved, and may be gone from there too.
  if (consumedAt === null && (await records.get(kind, id)))
    await sealed.add(recoveryRecord(Number(owner), id, name))
  return records.delete(kind, id)
}

/** Seals everything with the newest key. Returns how many records another key had sealed. */
export function resealAll(records: Records, vault: Vault): Promise<number> {
  return countEach(records, [...sealedKinds, proof.kind], async ({ kind, id, payload }) => {
    if (vault.isCurrent(payload)) return false
    const name = nameOf({ kind, id })
    // One that has changed meanwhile was sealed with the newest key then.
    return records.swap({ kind, id }, payload, vault.seal(name, vault.open(name, payload)))
  })
}

export interface Resealing {
  /** The records as they are stored. */
  readonly records: Records
  readonly keys: readonly string[] | undefined
  readonly database: string
  /** Lets running services notice a new key. */
  readonly wait: () => Promise<void>
}

/** With the first key of the setting, or a new one that is put into the file. The older ones still open. */
export async function rotateSecrets({ records, keys, database, wait }: Resealing): Promise<number> {
  const file = fileOf(database)
  const known = keys ?? (file === undefined ? undefined : readKeyFile(file))
  if (!known) {
    throw new SealError(
      `There is no key ${file === undefined ? 'in PORTICO_SECRET_KEY' : `file ${file}: the first start makes it, or a backup has it`}.`,
    )
  }
  if (keys || file === undefined) return resealAll(records, vaultOf(known))
  const all = [newKeyText(), ...known]
  writeKeyFile(file, all)
  await wait()
  return resealAll(records, vaultOf(all))
}

/** Takes all keys but the newest out of the file, once nothing needs them. Returns how many. */
export async function forgetSecrets({ records, keys, database }: Resealing): Promise<number> {
  const file = fileOf(database)
  if (keys || file === undefined) {
    throw new SealError(
      'The keys are in PORTICO_SECRET_KEY: after `portico secrets rotate`, leave only the first one there.',
    )
  }
  const known = readKeyFile(file) ?? []
  await resealAll(records, vaultOf(known))
  writeKeyFile(file, known.slice(0, 1))
  return Math.max(known.length - 1, 0)
}

function vaultOf(texts: readonly string[]): Vault {
  const keys = texts.map(secretKey)
  return new Vault({ keys: () => keys })
}
