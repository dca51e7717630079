/**
 * The event log without one lock over all commits. Before a transaction draws event numbers, it takes a shared lock whose
 * key is below them, and holds it until its commit is visible. A reader reads the last number drawn, then the lowest key that
 * is held, then the events: no commit can add an event at or below both.
 */
import { prunedSql } from '../../log/keys.ts'
import { afterSql, afterWithinSql } from '../../log/logged-change.ts'
import { type Sql, slot, sql } from '../../sql/writer.ts'
import { statementOf } from '../connections/statement.ts'

/** The upper 16 bits of the keys of Portico's advisory locks, which other programs in the same database should not use. */
const lockClass = 0x506f

/** The last number drawn. */
export const drawnText = `(SELECT "last_value" - (NOT "is_called")::int FROM "_events_id_seq")`
const lastDrawn: Sql = [drawnText]

/** Before the numbers are drawn and after all rows are changed: so events of a row are in the order of its changes. */
export const lockLog = statementOf(
  sql`SELECT 1 FROM (SELECT pg_advisory_xact_lock_shared((${[String(lockClass)]}::bigint << 48) | ${lastDrawn})) AS "lock"`,
)

export const addEvents = statementOf(
  sql`INSERT INTO "_events" ("at", "collection", "item_id", "kind", "data", "changed", "before", "user_id", "app_id", "type", "depth", "facts", "facts_before", "via") SELECT "at", "collection", "item_id", "kind", "data", "changed", "before", "user_id", "app_id", "type", "depth", "facts", "facts_before", "via" FROM unnest(${slot(0)}::text[], ${slot(1)}::text[], ${slot(2)}::bigint[], ${slot(3)}::text[], ${slot(4)}::text[], ${slot(5)}::text[], ${slot(6)}::text[], ${slot(7)}::bigint[], ${slot(8)}::bigint[], ${slot(9)}::text[], ${slot(10)}::integer[], ${slot(11)}::text[], ${slot(12)}::text[], ${slot(13)}::text[]) WITH ORDINALITY AS "e" ("at", "collection", "item_id", "kind", "data", "changed", "before", "user_id", "app_id", "type", "depth", "facts", "facts_before", "via", "n") ORDER BY "n"`,
)

/** Each collection has several rows, so that commits of different connections rarely wait for each other. */
export const addTotals = statementOf(
  sql`INSERT INTO "_totals" AS "t" ("collection", "slot", "n") SELECT "collection", pg_backend_pid() % 16, "n" FROM unnest(${slot(0)}::text[], ${slot(1)}::bigint[]) WITH ORDINALITY AS "d" ("collection", "n", "i") ORDER BY "i" ON CONFLICT ("collection", "slot") DO UPDATE SET "n" = "t"."n" + excluded."n"`,
)

export const touch = statementOf(
  sql`INSERT INTO "_touched" ("xid", "names", "at") VALUES (pg_current_xact_id(), ${slot(0)}, ${slot(1)}) RETURNING "xid"::text`,
)

/** The last number drawn. To be sent before `readLowestHeld`. */
export const readLastDrawn = statementOf(sql`SELECT ${lastDrawn}::bigint`)

/** The lowest number above which events may still be uncommitted; null: none are. */
export const heldText = `SELECT min(("classid"::bigint & 65535) << 32 | "objid"::bigint) FROM pg_locks WHERE "locktype" = 'advisory' AND "objsubid" = 1 AND "classid"::bigint >> 16 = ${lockClass} AND "database" = (SELECT "oid" FROM pg_database WHERE "datname" = current_database()) AND "granted"`
export const readLowestHeld = statementOf([heldText])

/** The number of the newest visible event, even if it has been pruned. */
export const newest = statementOf(sql`SELECT greatest((SELECT max("id") FROM "_events"), ${prunedSql}, 0)`)

export const pruned = statementOf(sql`SELECT ${prunedSql}`)

export const eventsAfter = statementOf(afterSql)
export const eventsWithin = statementOf(afterWithinSql)

/** The only row of `_touched` without a transaction. Its name is the transaction id below which rows may have been deleted. */
export const floorRow = sql`'0'::xid8`

/** Deletes only rows that every later snapshot sees. */
export const pruneTouched = statementOf(
  sql`WITH "floor" AS (SELECT least("xid", pg_snapshot_xmin(pg_current_snapshot())) AS "xid" FROM (SELECT max("xid") AS "xid" FROM "_touched" WHERE "at" < ${slot(0)} AND "xid" > ${floorRow}) AS "old" WHERE "xid" IS NOT NULL), "gone" AS (DELETE FROM "_touched" AS "t" USING "floor" WHERE "t"."xid" < "floor"."xid" AND "t"."xid" > ${floorRow} RETURNING 1) INSERT INTO "_touched" AS "t" ("xid", "names", "at") SELECT ${floorRow}, "xid"::text, ${slot(0)} FROM "floor" WHERE EXISTS (SELECT 1 FROM "gone") ON CONFLICT ("xid") DO UPDATE SET "names" = excluded."names" WHERE "t"."names"::xid8 < excluded."names"::xid8`,
)
