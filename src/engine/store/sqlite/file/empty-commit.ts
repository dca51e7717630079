/** A commit that changes nothing. It ensures that a failed commit is undone: see `log-tail.ts`. */
import type { DatabaseSync } from 'node:sqlite'
import { isCertainlyUndone } from '../failure.ts'

/** A COMMIT has failed, but may be applied when the database is opened again. */
export class UnsettledCommit extends Error {
  override readonly name = 'Unsettled'
}

/** Commits an unchanged page. Throws if that cannot be made durable. */
export function commitEmpty(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const number = database.prepare('PRAGMA user_version').get()?.user_version
    // SQLite writes the page whether or not the number changes.
    database.exec(`PRAGMA user_version = ${number}; COMMIT`)
  } catch (cause) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw cause
  }
}

/** Commits the transaction. Throws the failure if the transaction is certainly undone, otherwise an `UnsettledCommit`. */
export function commitOrUndo(database: DatabaseSync): void {
  try {
    database.exec('COMMIT')
  } catch (cause) {
    if (database.isTransaction) database.exec('ROLLBACK')
    if (isCertainlyUndone(cause)) throw cause
    try {
      commitEmpty(database)
    } catch {
      throw new UnsettledCommit('The COMMIT has failed.', { cause })
    }
    throw cause
  }
}
