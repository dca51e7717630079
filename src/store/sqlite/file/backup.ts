/** Copies of an SQLite database: made while it is written to, and put back. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { makePrivate, syncFile, syncName } from '../../../private-files.ts'
import { markRestored } from '../log/opening.ts'

/** Something that keeps a copy from being made or put back; the message says what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

export interface BackupOptions {
  /** The database. */
  readonly from: string
  /** The copy. */
  readonly to: string
  /** Whether a file that is there is replaced. */
  readonly overwrite: boolean
  readonly onProgress?: (donePages: number, allPages: number) => void
}

/** Pages that are copied before others have a turn. */
const pagesPerStep = 2000

/**
 * Copies the database as it is at this moment into one file, which nobody but its owner may read; whoever
 * reads and writes the database meanwhile is not held up. The copy is checked before it gets its name.
 * Returns its size in bytes. Throws a `BackupError`.
 */
export async function backUp({ from, to, overwrite, onProgress }: BackupOptions): Promise<number> {
  if (!existsSync(from)) throw new BackupError(`There is no database at ${from}.`)
  requireTarget(from, to, overwrite)
  return withPartial(to, async partial => {
    // Held open, the transaction keeps the copy at one moment, and others' commits from starting it anew.
    const source = new DatabaseSync(from, { readOnly: true, timeout: 5000 })
    try {
      source.exec('BEGIN; SELECT count(*) FROM sqlite_schema')
      await backup(source, partial, {
        rate: pagesPerStep,
        progress: ({ totalPages, remainingPages }) => onProgress?.(totalPages - remainingPages, totalPages),
      })
    } finally {
      source.close()
    }
    checkCopy(partial)
    putInPlace(partial, to, overwrite)
    return statSync(to).size
  })
}

export interface RestoreOptions {
  /** The copy. */
  readonly from: string
  /** The database. */
  readonly to: string
  readonly overwrite: boolean
}

/** Puts a copy in the place of the database, which no process may have open. Throws a `BackupError`. */
export async function restore({ from, to, overwrite }: RestoreOptions): Promise<void> {
  if (!existsSync(from)) throw new BackupError(`There is no backup at ${from}.`)
  requireTarget(from, to, overwrite)
  await withPartial(to, async partial => {
    copyFileSync(from, partial)
    // It takes the rights of the backup along, which may be none to write.
    makePrivate(partial)
    checkCopy(partial)
    if (existsSync(to)) requireUnused(to)
    // The log of the database that was there would be played into this one.
    for (const end of ['-wal', '-shm']) rmSync(to + end, { force: true })
    // Else a loss of power could keep it and the new file.
    syncName(to)
    putInPlace(partial, to, overwrite)
  })
}

function requireTarget(from: string, to: string, overwrite: boolean): void {
  const folder = dirname(resolve(to))
  if (!existsSync(folder)) throw new BackupError(`There is no folder ${folder}.`)
  if (!existsSync(to)) return
  if (realpathSync(from) === realpathSync(to)) {
    throw new BackupError(`${to} is what is to be copied: name another file.`)
  }
  if (!statSync(to).isFile()) throw new BackupError(`${to} is not a file.`)
  if (!overwrite) {
    throw new BackupError(`${to} is there already: name another file, or replace it with \`--overwrite\`.`)
  }
}

/** Gives `make` an empty file beside `path`, which is gone afterwards. */
async function withPartial<T>(path: string, make: (partial: string) => Promise<T>): Promise<T> {
  const partial = `${path}.${process.pid}.partial`
  const remove = () => {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(partial + end, { force: true })
  }
  const interrupted = () => {
    remove()
    process.exit(1)
  }
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  try {
    remove()
    closeSync(openSync(partial, 'wx', 0o600))
    return await make(partial)
  } catch (error) {
    throw explained(error, path)
  } finally {
    remove()
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
  }
}

function explained(error: unknown, path: string): unknown {
  if (error instanceof BackupError || !(error instanceof Error)) return error
  if (!('errcode' in error || 'errno' in error)) return error
  return new BackupError(`${path} cannot be written: ${error.message}.`)
}

/**
 * Every page, index and reference, and whether it is one of ours. Whoever serves it does not number new events as the
 * database does from which it was copied. Leaves it without a log beside it.
 */
function checkCopy(file: string): void {
  const database = openCopy(file)
  try {
    const ours = database.prepare(`SELECT 1 FROM sqlite_schema WHERE name = '_events'`).get()
    if (ours === undefined) throw new BackupError(`${file} is not a database of Portico's.`)
    const faults = database.prepare('PRAGMA integrity_check(5)').all()
    const [first] = faults
    if (first?.integrity_check !== 'ok') {
      const said = faults.map(fault => String(fault.integrity_check)).join('; ')
      throw new BackupError(`The copy is damaged, and so is what it was made of: ${said}`)
    }
    const lost = database.prepare('PRAGMA foreign_key_check').get()
    if (lost !== undefined) throw new BackupError(`Items of ${lost.table} refer to items that are not there.`)
    markRestored(database)
    database.exec('PRAGMA journal_mode = DELETE')
  } catch (error) {
    if (error instanceof BackupError) throw error
    throw new BackupError(`This is no sound database: ${error instanceof Error ? error.message : error}.`)
  } finally {
    database.close()
  }
}

function openCopy(file: string): DatabaseSync {
  return new DatabaseSync(file, { timeout: 5000 })
}

const BUSY = 5
const LOCKED = 6

/** To leave the mode of the log takes every lock, and so fails while another process has the file open. */
function requireUnused(file: string): void {
  const database = new DatabaseSync(file, { timeout: 200 })
  try {
    database.exec('PRAGMA journal_mode = DELETE')
  } catch (error) {
    const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined
    if (code !== BUSY && code !== LOCKED) return // Damaged, perhaps: what a backup is for.
    throw new BackupError(`${file} is in use: stop the service first.`)
  } finally {
    database.close()
  }
}

/** The name is there wholly or not at all, after a loss of power too. */
function putInPlace(partial: string, to: string, overwrite: boolean): void {
  syncFile(partial)
  if (overwrite) renameSync(partial, to)
  else linkSync(partial, to)
  try {
    syncName(to)
  } catch (error) {
    const reason = error instanceof Error ? error.message : error
    throw new BackupError(`${to} is in place, but a loss of power may still undo that: ${reason}.`)
  }
}
