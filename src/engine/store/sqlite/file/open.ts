/** Opens database files. */
import { closeSync, existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { openPrivate } from '../../../../base/private-files.ts'
import { dateGroupOf } from '../../../../model/fields/date-parts.ts'
import { dateGroupFunction } from '../../sql/sqlite.ts'

export interface ConnectionOptions {
  readonly file: string
  /** How long a write waits for the write lock of another process, in milliseconds. */
  readonly busyTimeoutMs: number
}

/** Readable by its owner only: it will hold password hashes. SQLite gives the `-wal` and `-shm` files the same mode. */
function createFile(file: string): void {
  if (file === ':memory:' || existsSync(file)) return
  try {
    closeSync(openPrivate(file))
  } catch {
    // Another process has just created it, or SQLite will report why it cannot be created.
  }
}

/** The functions of all connections that read for requests. */
export function addFunctions(database: DatabaseSync): void {
  database.function(dateGroupFunction, { deterministic: true }, dateGroupOf)
}

/** Opens a database file with the settings that every connection needs. */
export function openDatabase({ file, busyTimeoutMs }: ConnectionOptions): DatabaseSync {
  createFile(file)
  const database = new DatabaseSync(file, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true })
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32768;')
  database.exec(
    'PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 67108864;',
  )
  addFunctions(database)
  return database
}
