/**
 * Limits that keep the intervals of items from overlapping: `[start, end)`, where null is open. The stored intervals of a
 * group are disjoint, so only the one with the greatest start below the end of a new one can overlap with it.
 */
import { ApiError } from '../../../base/errors.ts'
import type { Collection, Field } from '../../../model/model.ts'
import type { GuardedOverlap } from '../../plan/guarded.ts'
import type { Condition } from '../../plan/guarded-conditions.ts'
import { conditionSql, isTrue, whereClause } from '../sql/condition.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { join, name, type Sql, slot, sql } from '../sql/writer.ts'
import type { WriteDatabase } from './database.ts'
import { countingConditions, groupLock, type LimitCheck } from './limited-group.ts'

/**
 * The statements: the first one returns whether the interval ends after its start and whether the write's row counts, and
 * locks its group if it does. The second one returns the id of an item whose interval overlaps with it.
 */
export function overlapCheck<S>(
  collection: Collection,
  limit: GuardedOverlap,
  database: WriteDatabase<S>,
): LimitCheck<S> {
  const { dialect, prepare } = database
  const { start, end, per, named, shown, refusal } = limit
  const row = new RowAlias(dialect, collection.name)
  const counts = join(countingConditions(limit, row), ' AND ')
  const group = groupLock(collection, per, per && row.column(per.name), database)
  const lock = sql`CASE WHEN ${counts} THEN ${group} END`
  const endsLater = sql`${row.column(start.name)} < ${row.column(end.name)}`
  const readable = named && prepare(readableSql(named, new RowAlias(dialect, collection.name)))
  const showing = shown && prepare(readableSql(shown, new RowAlias(dialect, collection.name)))
  return {
    concernsAllChanges: true,
    statements: [
      prepare(
        sql`SELECT ${endsLater}, ${counts}, ${row.column('id')}, ${lock} FROM ${row.from()} WHERE ${row.column('id')} = ${slot(0)}`,
      ),
      prepare(overlappingSql(collection, limit, new RowAlias(dialect, collection.name))),
    ],
    *require([changedRows, overlapping], caller, changed = [start, end]) {
      const [isLater, isCounted, id = null] = changedRows?.[0] ?? []
      // One that does not count may have been stored before the limit was declared.
      const isOwn = isCounted === 1 || changed.includes(start) || changed.includes(end)
      if (isLater === 0 && isOwn) {
        const [shownRows] = yield [showing && { statement: showing, inputs: { ...caller, slots: [id] } }]
        throw reversedError(limit, shownRows?.length === 1)
      }
      const other = overlapping?.[0]?.[0]
      if (other === undefined) return
      const [readableRows] = yield [
        readable && { statement: readable, inputs: { ...caller, slots: [other] } },
      ]
      if (!readableRows?.length) throw new ApiError('CONFLICT', refusal)
      const details = [
        { field: start.name, code: 'overlap', message: `It overlaps with item ${Number(other)}.` },
      ]
      throw new ApiError('CONFLICT', refusal, { details })
    },
  }
}

/** Returns a row if the caller may know of the row with the id in the slot. */
function readableSql(named: Condition, row: RowAlias): Sql {
  const conditions = [sql`${row.column('id')} = ${slot(0)}`, conditionSql(named, row)]
  return sql`SELECT 1 FROM ${row.from()}${whereClause(conditions)}`
}

/** Where the caller cannot read or does not write the fields, their fault could reveal a value. */
function reversedError({ start, end, refusal }: GuardedOverlap, isShown: boolean): ApiError {
  if (!isShown) return new ApiError('CONFLICT', refusal)
  const message = `It must be after ${start.name}.`
  return new ApiError('VALIDATION_FAILED', undefined, {
    details: [{ field: end.name, code: 'invalid', message }],
  })
}

/**
 * Each candidate is the first row of an index on `per` and `start`: the nearest start below the end, the last one if there is
 * no end, and an open start.
 */
function overlappingSql(collection: Collection, limit: GuardedOverlap, row: RowAlias): Sql {
  const { start, end, per, where } = limit
  const own = ({ name: field }: Field) =>
    sql`(SELECT ${name(field)} FROM ${name(collection.name)} WHERE "id" = ${slot(0)})`
  const ownRow = row.another(collection.name)
  const counts = sql`EXISTS (SELECT 1 FROM ${ownRow.from()}${whereClause(countingConditions(limit, ownRow))})`
  const first = row.column(start.name)
  const others = [
    counts,
    per ? sql`${row.column(per.name)} = ${own(per)}` : isTrue,
    sql`${row.column('id')} <> ${slot(0)}`,
    conditionSql(where, row),
  ]
  const lastFirst = sql` ORDER BY ${first} DESC${start.optional ? row.dialect.nulls(true) : []}`
  const candidate = (conditions: readonly Sql[], order: Sql) =>
    sql`SELECT * FROM (SELECT ${row.column('id')} AS "id", ${row.column(end.name)} AS "end" FROM ${row.from()}${whereClause([...others, ...conditions])}${order} LIMIT 1) AS "candidate"`
  const candidates = [
    candidate([sql`${first} < ${own(end)}`], lastFirst),
    ...(end.optional ? [candidate([sql`${own(end)} IS NULL`, sql`${first} IS NOT NULL`], lastFirst)] : []),
    ...(start.optional ? [candidate([sql`${first} IS NULL`], [])] : []),
  ]
  const endsLater = [
    sql`"end" > ${own(start)}`,
    ...(end.optional ? [sql`"end" IS NULL`] : []),
    ...(start.optional ? [sql`${own(start)} IS NULL`] : []),
  ]
  return sql`SELECT "id" FROM (${join(candidates, ' UNION ALL ')}) AS "other" WHERE ${join(endsLater, ' OR ')} LIMIT 1`
}
