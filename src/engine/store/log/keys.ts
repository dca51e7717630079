/** The keys of `_portico` that belong to the log. Numbers are stored as decimal text. */
import { type Sql, sql, textLiteral } from '../sql/writer.ts'

/** The highest number of an event that was pruned, or that a restored backup has replaced. */
export const prunedKey = 'events.pruned'
/** The numbers above which the log continued after each restored backup: a JSON array, in ascending order. */
export const basesKey = 'events.bases'
/** The identity of the server that last opened the log: see `postgres/log/opening.ts`. */
export const identityKey = 'events.identity'
/** Set in a backup: its log must continue far above its own numbers. */
export const restoredKey = 'events.restored'

/** The SQL condition that a key is copied with the log into another database. */
export const copiedKeys = `"key" >= 'events.' AND "key" < 'events/' AND "key" <> '${identityKey}'`

const holdPrefix = 'events.hold.'

/** The key of a hold: the number up to which its reader needs no events any more. */
export function holdKey(name: string): string {
  return `${holdPrefix}${name}`
}

/** The SQL condition that a key is one of `holdKey`. */
const isHold: Sql = sql`"key" >= ${textLiteral(holdPrefix)} AND "key" < ${textLiteral('events.hold/')}`

const number = sql`CAST("value" AS bigint)`

export const prunedSql: Sql = sql`(SELECT ${number} FROM "_portico" WHERE "key" = ${textLiteral(prunedKey)})`
export const basesSql: Sql = sql`(SELECT "value" FROM "_portico" WHERE "key" = ${textLiteral(basesKey)})`
export const lowestHoldSql: Sql = sql`(SELECT min(${number}) FROM "_portico" WHERE ${isHold})`
