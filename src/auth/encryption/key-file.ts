/** The key file beside an SQLite database: one key a line, the one to encrypt with first. */
import {
  closeSync,
  fsyncSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join, parse } from 'node:path'
import { openPrivate, syncName } from '../../private-files.ts'
import { EncryptionError, type KeySource, newKeyText, type SecretKey, secretKey } from './record-cipher.ts'

const keyText = /^[A-Za-z0-9._~+/=-]{32,200}$/

/** `portico.db` → `portico.key`. */
export function keyFileOf(database: string): string {
  const { dir, name } = parse(database)
  return join(dir, `${name}.key`)
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** Undefined where there is no file. Throws an `EncryptionError` for one that holds something else than keys. */
export function readKeyFile(file: string): readonly string[] | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw new EncryptionError(
      `The key file ${file} cannot be read: ${error instanceof Error ? error.message : error}.`,
    )
  }
  const keys = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  if (keys.length > 0 && keys.every(key => keyText.test(key))) return keys
  throw new EncryptionError(
    `The key file ${file} is damaged: each of its lines must be a key. Put it back from a backup.`,
  )
}

const head =
  '# Portico encrypts secrets in the database with these keys. Without this file they are lost: keep a copy, apart from the database.\n'

function writeDurably(file: string, keys: readonly string[]): void {
  const handle = openPrivate(file)
  try {
    writeSync(handle, `${head}${keys.join('\n')}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function linkUnlessThere(draft: string, file: string): void {
  try {
    linkSync(draft, file)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
  }
}

/** Makes the file with a new key, whole or not at all. Of several processes, one makes it. */
export function makeKeyFile(file: string): readonly string[] {
  const draft = `${file}.${process.pid}.${newKeyText().slice(0, 8)}`
  try {
    writeDurably(draft, [newKeyText()])
    linkUnlessThere(draft, file)
    // Also where another process has made the file: no key may be used that a power failure could still erase.
    syncName(file)
  } catch (error) {
    throw new EncryptionError(
      `The key file ${file} cannot be made: ${error instanceof Error ? error.message : error}.`,
    )
  } finally {
    rmSync(draft, { force: true })
  }
  const keys = readKeyFile(file)
  if (keys) return keys
  throw new EncryptionError(`The key file ${file} has vanished.`)
}

/** Replaces the keys, all at once. */
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

/** Whether others than its owner may read it. */
export function isReadableByOthers(file: string): boolean {
  return process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0
}

/** How often the file is looked at, at most. */
const recheckMs = 500

/** The keys of a file, read again when it has changed: `portico secrets rotate` runs beside the service. */
export class KeyFile implements KeySource {
  readonly #file: string
  #keys: readonly SecretKey[]
  #changedAt: number
  #lookedAt: number

  constructor(file: string, keys: readonly string[]) {
    this.#file = file
    this.#keys = keys.map(secretKey)
    this.#changedAt = this.#modified()
    this.#lookedAt = performance.now()
  }

  keys(): readonly SecretKey[] {
    const now = performance.now()
    if (now - this.#lookedAt < recheckMs) return this.#keys
    this.#lookedAt = now
    try {
      this.#readIfChanged()
    } catch {
      // Half written or unreadable: the known keys still decrypt, and the next start reports the file.
    }
    return this.#keys
  }

  #readIfChanged(): void {
    const at = this.#modified()
    if (at === this.#changedAt) return
    this.#keys = readKeyFile(this.#file)?.map(secretKey) ?? this.#keys
    this.#changedAt = at
  }

  /** A file that is removed while the service runs is reported at the next start. */
  #modified(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.mtimeMs ?? 0
  }
}
