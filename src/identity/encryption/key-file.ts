/** The key file next to an SQLite database: one key per line; the first one encrypts. */
import { closeSync, fsyncSync, linkSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { join, parse } from 'node:path'
import { openPrivate, syncName } from '../../base/private-files.ts'
import { readTextFile, TextEncodingError } from '../../base/text-file.ts'
import { EncryptionError, type KeySource, newKeyText, type SecretKey, secretKey } from './record-cipher.ts'

const keyText = /^[A-Za-z0-9._~+/=-]{32,200}$/

/** `portico.db` → `portico.key`. */
export function keyFileOf(database: string): string {
  const { dir, name } = parse(database)
  return join(dir, `${name}.key`)
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** Undefined if there is no file. Throws an `EncryptionError` if it contains anything but keys. */
export function readKeyFile(file: string): readonly string[] | undefined {
  let text: string
  try {
    text = readTextFile(file)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    if (error instanceof TextEncodingError)
      throw new EncryptionError(`The key file ${file} ${error.message}.`)
    throw new EncryptionError(
      `The key file ${file} cannot be read: ${error instanceof Error ? error.message : error}.`,
    )
  }
  const keys = text.split(/\r?\n/).filter(line => line !== '' && !line.startsWith('#'))
  if (keys.length > 0 && keys.every(key => keyText.test(key))) return keys
  throw new EncryptionError(
    `The key file ${file} is damaged: each of its lines must be a key. Restore it from a backup.`,
  )
}

const fileComment =
  '# Portico encrypts secrets in the database with these keys. Without this file the secrets are lost: keep a copy, apart from the database.\n'

function writeDurably(file: string, keys: readonly string[]): void {
  const handle = openPrivate(file)
  try {
    writeSync(handle, `${fileComment}${keys.join('\n')}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function linkUnlessExists(draft: string, file: string): void {
  try {
    linkSync(draft, file)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

/** Creates the file with a new key, completely or not at all. If several processes try, one creates it. */
export function createKeyFile(file: string): readonly string[] {
  const draft = `${file}.${process.pid}.${newKeyText().slice(0, 8)}`
  try {
    writeDurably(draft, [newKeyText()])
    linkUnlessExists(draft, file)
    // Even if another process has created the file: no key may be used that a power failure could still erase.
    syncName(file)
  } catch (error) {
    throw new EncryptionError(
      `The key file ${file} cannot be created: ${error instanceof Error ? error.message : error}.`,
    )
  } finally {
    rmSync(draft, { force: true })
  }
  const keys = readKeyFile(file)
  if (keys) return keys
  throw new EncryptionError(`The key file ${file} was deleted while it was being created.`)
}

/** Replaces all keys atomically. */
export function writeKeyFile(file: string, keys: readonly string[]): void {
  const draft = `${file}.${process.pid}.${newKeyText().slice(0, 8)}`
  try {
    writeDurably(draft, keys)
    renameSync(draft, file)
    syncName(file)
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * Does `work` while no other process changes the file. Otherwise one of two concurrent changes would overwrite the new key
 * of the other, and everything encrypted with that key would be lost. Throws an `EncryptionError` if the file is locked.
 */
export async function withKeyFileLocked<T>(file: string, work: () => Promise<T>): Promise<T> {
  const lock = `${file}.lock`
  try {
    closeSync(openPrivate(lock))
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    throw new EncryptionError(
      `The key file ${file} is being changed by another command. If none is running, one was killed: delete ${lock} and try again.`,
    )
  }
  try {
    return await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

/** Whether users other than its owner can read the file. */
export function isReadableByOthers(file: string): boolean {
  return process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0
}

/** The file is checked at most this often. */
const recheckMs = 500

/** The keys of a file, which is read again when it has changed: `portico secrets rotate` runs while the service does. */
export class KeyFile implements KeySource {
  readonly #file: string
  #keys: readonly SecretKey[]
  #modifiedAtMs: number
  #checkedAtMs: number

  constructor(file: string, keys: readonly string[]) {
    this.#file = file
    this.#keys = keys.map(secretKey)
    this.#modifiedAtMs = this.#readModifiedAt()
    this.#checkedAtMs = performance.now()
  }

  keys(): readonly SecretKey[] {
    const now = performance.now()
    if (now - this.#checkedAtMs < recheckMs) return this.#keys
    this.#checkedAtMs = now
    try {
      this.#readIfChanged()
    } catch {
      // Partly written or unreadable: the known keys still decrypt, and the next start reports the file.
    }
    return this.#keys
  }

  #readIfChanged(): void {
    const modifiedAtMs = this.#readModifiedAt()
    if (modifiedAtMs === this.#modifiedAtMs) return
    this.#keys = readKeyFile(this.#file)?.map(secretKey) ?? this.#keys
    this.#modifiedAtMs = modifiedAtMs
  }

  /** A file that was deleted while the service runs is reported at the next start. */
  #readModifiedAt(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.mtimeMs ?? 0
  }
}
