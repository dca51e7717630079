/** A commit that changes nothing, by which one that has failed is surely undone: see `tail.ts`. */
import type { DatabaseSync } from 'node:sqlite'
import { isSurelyUndone } from '../failure.ts'

/** Nobody knows whether a COMMIT that has failed will be found done by whoever opens the database next. */
export class Unsettled extends Error {
  override readonly name = 'Unsettled'
}

/** Commits a page that holds what it held before. Throws where that cannot be made durable. */
export function mark(database: DatabaseSync): void {
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

/** Ends the transaction. Throws what failed where nothing of it is left, and `Unsettled` where that is not sure. */
export function commitSurely(database: DatabaseSync): void {
  try {
    database.exec('COMMIT')
  } catch (cause) {
    if (database.isTransaction) database.exec('ROLLBACK')
    if (isSurelyUndone(cause)) throw cause
    try {
      mark(database)
    } catch {
      throw new Unsettled('The COMMIT has failed.', { cause })
    }
    throw cause
  }
}
