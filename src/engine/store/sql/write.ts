/** The statements of writes. New values are slots, in the order of the assignments. */
import { wholeEncoding } from '../../../model/fields/integer.ts'
import type { Collection, Field } from '../../../model/model.ts'
import type {
  Check,
  GuardedAssignment,
  GuardedCreate,
  GuardedSelected,
  GuardedUpdate,
  ReferenceCheck,
} from '../../plan/guarded.ts'
import type { Condition } from '../../plan/guarded-conditions.ts'
import { bindOf, conditionSql, whereClause } from './condition.ts'
import type { Dialect } from './dialect.ts'
import { measuring } from './measuring.ts'
import { RowAlias } from './row-alias.ts'
import { objectSql } from './select.ts'
import { arg, type Bind, empty, join, name, type Sql, slot, sql } from './writer.ts'

/** The row under its table's own name, as RETURNING refers to it. */
export function returningRow(collection: Collection, dialect: Dialect): RowAlias {
  return new RowAlias(dialect, collection.name, collection.name)
}

/** The item as the caller may read it; null for a row that the caller may not read. */
export function answerSql(select: readonly GuardedSelected[], rows: Condition, row: RowAlias): Sql {
  const text = boundedText(select, row)
  return rows.kind === 'always' ? text : sql`CASE WHEN ${conditionSql(rows, row)} THEN ${text} END`
}

/** A row without lists has few texts. */
function boundedText(select: readonly GuardedSelected[], row: RowAlias): Sql {
  const { dialect } = row
  const text = dialect.text(objectSql(select, row))
  if (dialect.boundedText === undefined || !hasLists(select)) return text
  return dialect.boundedText(text, objectSql(select, row.in(measuring(dialect))))
}

export function hasLists(select: readonly GuardedSelected[]): boolean {
  return select.some(
    selected => selected.kind === 'relation' && (selected.list !== undefined || hasLists(selected.select)),
  )
}

/** The item as `If-Match` compares it. No client gets this text, so its bytes are not counted. */
export function representationSql(select: readonly GuardedSelected[], row: RowAlias): Sql {
  return row.dialect.text(
    objectSql(select, row.in({ ...row.dialect, counted: undefined, countedAs: undefined })),
  )
}

/** The item as the event log stores it: every field that any caller may read. */
export function eventSql(collection: Collection, row: RowAlias): Sql {
  const fields = publicFields(collection)
  const entries = fields.map(field => [field.name, row.dialect.json(row.column(field.name), field)] as const)
  return row.dialect.text(row.dialect.object(entries))
}

/** The item as the model's own code receives it. */
export function logicItemSql(collection: Collection, row: RowAlias): Sql {
  const fields = [...collection.fields.values()].filter(field => !field.internal)
  const entries = fields.map(field => [field.name, row.dialect.json(row.column(field.name), field)] as const)
  return row.dialect.text(row.dialect.object(entries))
}

export function publicFields(collection: Collection): readonly Field[] {
  return [...collection.fields.values()].filter(field => !field.internal && !field.writeOnly)
}

export function checksSql(checks: readonly Check[], row: RowAlias): Sql[] {
  return checks.map(check => sql`(${conditionSql(check.condition, row)})`)
}

export function insertSql(collection: Collection, fields: readonly Field[], outputs: readonly Sql[]): Sql {
  const columns = join(
    fields.map(field => name(field.name)),
    ', ',
  )
  const values = join(
    fields.map((_, index) => [slot(index)]),
    ', ',
  )
  return sql`INSERT INTO ${name(collection.name)} (${columns}) VALUES (${values}) RETURNING ${join(outputs, ', ')}`
}

/** Outputs over a row as it will be: `row` stands for it. The id of a new one is not known yet: 0, which no row has. */
export function proposedSql(
  shape: GuardedCreate | GuardedUpdate,
  outputs: readonly Sql[],
  row: RowAlias,
): Sql {
  const { collection, set } = shape
  const stored = shape.kind === 'update' ? returningRow(collection, row.dialect) : undefined
  const columns = [...collection.fields.values()].map(field => {
    const index = set.findIndex(assignment => assignment.field === field)
    const assignment = set[index]
    const value = assignment
      ? assignedValueSql(assignment, index, stored)
      : (stored?.column(field.name) ?? sql`0`)
    return sql`${row.dialect.cast(value, field.type.encoding)} AS ${name(field.name)}`
  })
  const source =
    shape.kind === 'update' ? sql` FROM ${name(collection.name)} WHERE "id" = ${arg(shape.id)}` : empty
  return sql`SELECT ${join(outputs, ', ')} FROM ${row.of(sql`SELECT ${join(columns, ', ')}${source}`)}`
}

export function updateSql(
  collection: Collection,
  assignments: readonly GuardedAssignment[],
  id: Bind,
  outputs: readonly Sql[],
  dialect: Dialect,
): Sql {
  const table = name(collection.name)
  const storedRow = returningRow(collection, dialect)
  const set = join(
    assignments.map(
      (assignment, index) =>
        sql`${name(assignment.field.name)} = ${assignedValueSql(assignment, index, storedRow)}`,
    ),
    ', ',
  )
  return sql`UPDATE ${table} SET ${set} WHERE ${table}."id" = ${id} RETURNING ${join(outputs, ', ')}`
}

export function deleteSql(table: string, id: Bind): Sql {
  return sql`DELETE FROM ${name(table)} WHERE "id" = ${id}`
}

/** Outputs over one stored row. */
export function rowSql(row: RowAlias, id: Bind, outputs: readonly Sql[]): Sql {
  return sql`SELECT ${join(outputs, ', ')} FROM ${row.from()} WHERE ${row.column('id')} = ${id}`
}

/**
 * One column per reference, `r0` and so on: true where the value is null, the id of the caller or of their app where that is allowed, or
 * the id of a row that the caller may read.
 */
export function referencesSql(references: readonly ReferenceCheck[], dialect: Dialect): Sql {
  const columns = references.map(({ value, target, rows, self }, index) => {
    const row = new RowAlias(dialect, target.name, `t${index}`, { next: references.length })
    const id = bindOf(value, wholeEncoding)
    const conditions = whereClause([sql`${row.column('id')} = ${id}`, conditionSql(rows, row)])
    // In this order, so that PostgreSQL knows the parameter's type before `IS NULL`.
    const ownId = self ? sql` OR ${id} = ${{ from: self }}` : empty
    return sql`(EXISTS (SELECT 1 FROM ${row.from()}${conditions}) OR ${id} IS NULL${ownId}) AS ${name(`r${index}`)}`
  })
  return sql`SELECT ${join(columns, ', ')}`
}

/** The new value, a slot; the stored value in rows to which the assignment does not apply. */
function assignedValueSql(
  { field, when, withheld }: GuardedAssignment,
  index: number,
  stored: RowAlias | undefined,
): Sql {
  if (stored === undefined) return [slot(index)]
  if (withheld) return stored.column(field.name)
  if (when === undefined) return [slot(index)]
  return sql`CASE WHEN ${conditionSql(when, stored)} THEN ${slot(index)} ELSE ${stored.column(field.name)} END`
}

/** Whether the assignment of a slot changes the stored row, if the caller may know. */
export function changesSql(
  { field, when, readableWhen }: GuardedAssignment,
  index: number,
  row: RowAlias,
): Sql {
  const same = row.dialect.same(row.column(field.name), [slot(index)], field)
  const isKnownSame =
    readableWhen === undefined ? same : sql`${same} AND ${conditionSql(readableWhen, row, true)}`
  const differs = sql`NOT (${isKnownSame})`
  return when === undefined ? differs : sql`(${conditionSql(when, row)} AND ${differs})`
}

/** The ids of the rows whose `field` refers to an id. `limit`: as the dialect has it. */
export function referringSql(table: string, field: string, id: Bind, limit: Sql): Sql {
  return sql`SELECT "id" FROM ${name(table)} WHERE ${name(field)} = ${id} ORDER BY "id" LIMIT ${limit}`
}
