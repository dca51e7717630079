/** Backup of an SQLite database while it is in use, and restore. */
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
import { makePrivate, syncFile, syncName } from '../../../../base/private-files.ts'
import { markRestored } from '../log/opening.ts'

/** A backup or restore is not possible. The message tells the operator what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

export interface BackupOptions {
  /** The database. */
  readonly from: string
  /** The copy. */
  readonly to: string
  /** Whether an existing file is replaced. */
  readonly overwrite: boolean
  readonly onProgress?: (donePages: number, allPages: number) => void
}

/** How many pages are copied before other work gets a turn. */
const pagesPerStep = 2000

/**
 * Copies the database as it is now into one file that only its owner can read. Reads and writes of the database continue
 * meanwhile. The copy is checked before it gets its name. Returns its size in bytes. Rejects with a `BackupError`.
 */
export async function backUp({ from, to, overwrite, onProgress }: BackupOptions): Promise<number> {
  if (!existsSync(from)) throw new BackupError(`There is no database at ${from}.`)
  requireTarget(from, to, overwrite)
  return withPartial(to, async partial => {
    // The open transaction fixes the snapshot. Without it, commits of other processes would restart the backup.
    // `VACUUM INTO` is consistent too, but rewrites every row and reports no progress.
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

/** Replaces the database, which no process may have open, by a copy. Rejects with a `BackupError`. */
export async function restore({ from, to, overwrite }: RestoreOptions): Promise<void> {
  if (!existsSync(from)) throw new BackupError(`There is no backup at ${from}.`)
  requireTarget(from, to, overwrite)
  await withPartial(to, async partial => {
    copyFileSync(from, partial)
    // The copy has the backup's permissions, which may not include writing.
    makePrivate(partial)
    checkCopy(partial)
    if (existsSync(to)) requireUnused(to)
    // SQLite would apply the log of the replaced database to this one.
    for (const suffix of ['-wal', '-shm']) rmSync(to + suffix, { force: true })
    // Otherwise a power failure could leave the old log next to the new file.
    syncName(to)
    putInPlace(partial, to, overwrite)
  })
}

function requireTarget(from: string, to: string, overwrite: boolean): void {
  const folder = dirname(resolve(to))
  if (!existsSync(folder)) throw new BackupError(`There is no folder ${folder}.`)
  if (!existsSync(to)) return
  if (realpathSync(from) === realpathSync(to)) {
    throw new BackupError(`${to} is the source itself: name another file.`)
  }
  if (!statSync(to).isFile()) throw new BackupError(`${to} is not a file.`)
  if (!overwrite) {
    throw new BackupError(`${to} exists already: name another file, or replace it with \`--overwrite\`.`)
  }
}

/** Calls `make` with an empty file next to `path`, and deletes the file afterwards. */
async function withPartial<T>(path: string, make: (partial: string) => Promise<T>): Promise<T> {
  const partial = `${path}.${process.pid}.partial`
  const remove = () => {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(partial + suffix, { force: true })
  }
  const onInterrupt = () => {
    remove()
    process.exit(1)
  }
  process.once('SIGINT', onInterrupt).once('SIGTERM', onInterrupt)
  try {
    remove()
    closeSync(openSync(partial, 'wx', 0o600))
    return await make(partial)
  } catch (error) {
    throw asBackupError(error, path)
  } finally {
    remove()
    process.off('SIGINT', onInterrupt).off('SIGTERM', onInterrupt)
  }
}

function asBackupError(error: unknown, path: string): unknown {
  if (error instanceof BackupError || !(error instanceof Error)) return error
  if (!('errcode' in error || 'errno' in error)) return error
  return new BackupError(`${path} cannot be written: ${error.message}.`)
}

/**
 * Checks every page, index and reference, and that it is a database of Portico's. Marks the copy, so that its event numbers
 * will differ from those of the original. Leaves no log next to it.
 */
function checkCopy(file: string): void {
  const database = new DatabaseSync(file, { timeout: 5000 })
  try {
    const eventLog = database.prepare(`SELECT 1 FROM sqlite_schema WHERE name = '_events'`).get()
    if (eventLog === undefined) throw new BackupError(`${file} is not a database of Portico's.`)
    const faults = database.prepare('PRAGMA integrity_check(5)').all()
    const [first] = faults
    if (first?.integrity_check !== 'ok') {
      const messages = faults.map(fault => String(fault.integrity_check)).join('; ')
      throw new BackupError(`The copy is damaged, and so is its source: ${messages}`)
    }
    const violation = database.prepare('PRAGMA foreign_key_check').get()
    if (violation !== undefined)
      throw new BackupError(`Items of ${violation.table} refer to items that do not exist.`)
    markRestored(database)
    database.exec('PRAGMA journal_mode = DELETE')
  } catch (error) {
    if (error instanceof BackupError) throw error
    throw new BackupError(`This is not a valid database: ${error instanceof Error ? error.message : error}.`)
  } finally {
    database.close()
  }
}

const BUSY = 5
const LOCKED = 6

/** Leaving WAL mode takes an exclusive lock, so it fails while another process has the file open. */
function requireUnused(file: string): void {
  const database = new DatabaseSync(file, { timeout: 200 })
  try {
    database.exec('PRAGMA journal_mode = DELETE')
  } catch (error) {
    const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined
    if (code !== BUSY && code !== LOCKED) return // Perhaps it is damaged, which is a reason to restore.
    throw new BackupError(`${file} is in use: stop the service first.`)
  } finally {
    database.close()
  }
}

/** Atomic, even if the power fails. */
function putInPlace(partial: string, to: string, overwrite: boolean): void {
  syncFile(partial)
  if (overwrite) renameSync(partial, to)
  else linkSync(partial, to)
  try {
    syncName(to)
  } catch (error) {
    const reason = error instanceof Error ? error.message : error
    throw new BackupError(`${to} is in place, but a power failure may still undo that: ${reason}.`)
  }
}
