/** What `_portico` stores of the log, by key. Numbers as decimal text. */
import { quoted, type Sql, sql } from '../sql/writer.ts'

/** The highest number whose event is gone, or of a log that a restored backup has replaced. */
export const prunedKey = 'events.pruned'
/** The numbers above which the log went on after a restored backup: a JSON array, in ascending order. */
export const basesKey = 'events.bases'
/** The server's identity as it was when the log was opened last: see `postgres/log/opening.ts`. */
export const identityKey = 'events.identity'
/** That the database is a copy, and its log must go on far above its numbers. */
export const restoredKey = 'events.restored'

const holdPrefix = 'events.hold.'

/** The number whose event, and all before it, somebody needs no more. */
export function holdKey(name: string): string {
  return `${holdPrefix}${name}`
}

/** Whether a key is one of `holdKey`. */
export const isHold: Sql = sql`"key" >= ${quoted(holdPrefix)} AND "key" < ${quoted('events.hold/')}`

const number = sql`CAST("value" AS bigint)`

export const prunedSql: Sql = sql`(SELECT ${number} FROM "_portico" WHERE "key" = ${quoted(prunedKey)})`
export const basesSql: Sql = sql`(SELECT "value" FROM "_portico" WHERE "key" = ${quoted(basesKey)})`
export const lowestHoldSql: Sql = sql`(SELECT min(${number}) FROM "_portico" WHERE ${isHold})`
