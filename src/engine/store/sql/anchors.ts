/** The statement that finds positions along a list. */
import type { GuardedList } from '../../plan/guarded.ts'
import { name, type Sql, slot, sql } from './writer.ts'

/** The number of rows between two positions. */
export const anchorSpacing = 500

/**
 * The positions before a page of a whole collection in the order of ids, as offset and id: for SQLite. Slots: the offset and the
 * id of the anchor to begin at, 0 for the start, and the offset of the page.
 */
export function anchorsSql({ collection, sort }: GuardedList): Sql {
  const table = name(collection.name)
  const spacing: Sql = [String(anchorSpacing)]
  const order: Sql = [sort[0]?.descending ? ' DESC' : '']
  const beyond: Sql = [sort[0]?.descending ? '<' : '>']
  const next = (conditions: Sql) =>
    sql`(SELECT "id" FROM ${table}${conditions} ORDER BY "id"${order} LIMIT 1 OFFSET ${spacing} - 1)`
  const isStart = sql`${slot(0)} = 0`
  const first = sql`CASE WHEN ${isStart} THEN ${next([])} ELSE ${next(sql` WHERE "id" ${beyond} ${slot(1)}`)} END`
  const later = next(sql` WHERE "id" ${beyond} "way"."at"`)
  const walk = sql`SELECT ${slot(0)} + ${spacing}, ${first} UNION ALL SELECT "n" + ${spacing}, ${later} FROM "way" WHERE "at" IS NOT NULL AND "n" + ${spacing} <= ${slot(2)}`
  return sql`WITH RECURSIVE "way"("n", "at") AS (${walk}) SELECT "n", "at" FROM "way" WHERE "at" IS NOT NULL`
}
