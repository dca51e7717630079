/** Prepares a log for writing: stores its bounds, and continues above the numbers of a log that a backup has replaced. */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { basesKey, prunedKey, restoredKey } from '../../log/keys.ts'
import { parseBases } from '../../log/pruning.ts'
import { baseAbove, withBase } from '../../log/restored.ts'
import { storedValue } from '../../schema/sqlite/migrate.ts'
import { commitOrUndo } from '../file/empty-commit.ts'

/** The database must have Portico's own tables. `now`: in milliseconds. */
export function openLog(database: DatabaseSync, now: () => number): void {
  if (storedValue(database, prunedKey) !== undefined && storedValue(database, restoredKey) === undefined)
    return
  transact(database, () => {
    if (storedValue(database, restoredKey) !== undefined) raise(database, now())
    else if (storedValue(database, prunedKey) === undefined) storeValue(database, prunedKey, '0')
  })
}

/** The log continues far above its present numbers, and no reader may resume from one of them. */
export function raiseLog(database: DatabaseSync, now: () => number): void {
  transact(database, () => raise(database, now()))
}

/** Marks a copy: when it is opened, its log continues far above its present numbers. */
export function markRestored(database: DatabaseSync): void {
  storeValue(database, restoredKey, 'copy')
}

function raise(database: DatabaseSync, now: number): void {
  const base = baseAbove(lastDrawn(database), now)
  const bases = withBase(parseBases(storedValue(database, basesKey)), base, oldestOf(database))
  database.exec(`DELETE FROM "sqlite_sequence" WHERE "name" = '_events'`)
  database.prepare(`INSERT INTO "sqlite_sequence" ("name", "seq") VALUES ('_events', ?)`).run(base)
  storeValue(database, prunedKey, String(base))
  storeValue(database, basesKey, JSON.stringify(bases))
  database.prepare('DELETE FROM "_portico" WHERE "key" = ?').run(restoredKey)
}

function lastDrawn(database: DatabaseSync): number {
  return Number(firstValue(database, `SELECT "seq" FROM "sqlite_sequence" WHERE "name" = '_events'`) ?? 0)
}

function oldestOf(database: DatabaseSync): number | undefined {
  const id = firstValue(database, 'SELECT min("id") FROM "_events"')
  return id === null || id === undefined ? undefined : Number(id)
}

function firstValue(database: DatabaseSync, text: string): SQLOutputValue | undefined {
  const row = database.prepare(text).get()
  return row && Object.values(row)[0]
}

function storeValue(database: DatabaseSync, key: string, value: string): void {
  database.prepare('INSERT OR REPLACE INTO "_portico" ("key", "value") VALUES (?, ?)').run(key, value)
}

function transact(database: DatabaseSync, work: () => void): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    work()
    commitOrUndo(database)
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
