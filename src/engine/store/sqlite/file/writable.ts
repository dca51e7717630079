/** Whether a database file can be written at all: SQLite silently opens a read-only file for reading. */
import type { DatabaseSync } from 'node:sqlite'
import { MigrationError } from '../../schema/refusal.ts'
import { isUnwritable } from '../failure.ts'
import { type ConnectionOptions, openDatabase } from './open.ts'

/** How long to wait for the write lock of another process, in milliseconds. If another process has it, the file can be written. */
const probeWaitMs = 100

/** Like `openDatabase`. Throws a `MigrationError` that names the file if the file or its folder cannot be written. */
export function openWritable(options: ConnectionOptions): DatabaseSync {
  const { file, busyTimeoutMs } = options
  let database: DatabaseSync | undefined
  try {
    database = openDatabase(options)
    database.exec(`PRAGMA busy_timeout = ${probeWaitMs}`)
    probe(database)
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    return database
  } catch (cause) {
    database?.close()
    if (!isUnwritable(cause)) throw cause
    throw new MigrationError(
      `The database ${file} cannot be written: ${(cause as Error).message}. The user who runs the service must be able to write the file, what SQLite keeps next to it (-wal, -shm), and their folder, on a file system that is not mounted read-only.`,
      { cause },
    )
  }
}

/** `BEGIN IMMEDIATE` alone succeeds on a file that was opened for reading (https://sqlite.org/lang_transaction.html). */
function probe(database: DatabaseSync): void {
  try {
    database.exec('BEGIN IMMEDIATE')
  } catch (cause) {
    if (isUnwritable(cause)) throw cause
    return
  }
  try {
    const version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
    database.exec(`PRAGMA user_version = ${version}`)
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK')
  }
}
