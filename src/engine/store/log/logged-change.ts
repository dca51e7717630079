/** A row of the event log as a `LoggedChange`. */

import type { LoggedChange } from '../../plan/change-feed.ts'
import { slot, sql } from '../sql/writer.ts'
import type { ResultRow, SqlValue } from '../values.ts'

/** In the order in which `loggedChange` reads them. */
const changeColumns = sql`"id", "collection", "kind", "item_id", "data", "before", "changed", "at", "user_id", "app_id", "type", "depth", "facts", "facts_before", "via"`

/** The approximate size of a row without its texts: numbers, names, page and index entries. */
const rowBytes = 150

export const bytesSql = sql`octet_length("data") + coalesce(octet_length("before"), 0) + coalesce(octet_length("changed"), 0) + coalesce(octet_length("facts"), 0) + coalesce(octet_length("facts_before"), 0) + ${[String(rowBytes)]}`

/** Events after a number. Slots: the number, the limit. */
export const afterSql = sql`SELECT ${changeColumns} FROM "_events" WHERE "id" > ${slot(0)} ORDER BY "id" LIMIT ${slot(1)} + 0`

/**
 * The same, up to the first event with which they reach a number of bytes. Slots: the number, the limit, the bytes. The
 * lengths are summed first: no database reads the texts for that.
 */
export const afterWithinSql = sql`SELECT ${changeColumns} FROM "_events" WHERE "id" > ${slot(0)} AND "id" <= (SELECT max("id") FROM (SELECT "id", sum("bytes") OVER (ORDER BY "id") - "bytes" AS "sum" FROM (SELECT "id", ${bytesSql} AS "bytes" FROM "_events" WHERE "id" > ${slot(0)} ORDER BY "id" LIMIT ${slot(1)} + 0) AS "some") AS "summed" WHERE "sum" < ${slot(2)}) ORDER BY "id"`

export function loggedChange(row: ResultRow): LoggedChange {
  const [
    event,
    collection,
    kind,
    id,
    data,
    before,
    changed,
    at,
    userId,
    appId,
    type,
    depth,
    facts,
    factsBefore,
    via,
  ] = row
  let parsed: readonly string[] | LoggedChange['values'] | undefined
  const parse = () => (parsed ??= typeof changed === 'string' ? JSON.parse(changed) : null)
  return {
    event: Number(event),
    collection: String(collection),
    kind: kind as LoggedChange['kind'],
    id: Number(id),
    row: String(data),
    before: textOf(before),
    facts: textOf(facts),
    factsBefore: textOf(factsBefore),
    // Parsed lazily: most readers do not need it.
    get changed() {
      const names = parse()
      return Array.isArray(names) ? names : null
    },
    get values() {
      const values = parse()
      return values === null || Array.isArray(values) ? null : (values as LoggedChange['values'])
    },
    at: String(at),
    userId: numberOf(userId),
    appId: numberOf(appId),
    via: textOf(via),
    type: textOf(type),
    depth: numberOf(depth) ?? 0,
  }
}

function textOf(value: SqlValue | undefined): string | null {
  return value === null || value === undefined ? null : String(value)
}

function numberOf(value: SqlValue | undefined): number | null {
  return value === null || value === undefined ? null : Number(value)
}
