/** The checks that the rows of a table must pass before its steps run, and the messages about invalid rows. */

import type { FieldType } from '../../../model/fields/field-type.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { compile } from '../../../model/json-schema/compile.ts'
import { brief, schemaFaults } from '../../../model/json-schema/faults.ts'
import type { Model } from '../../../model/model.ts'
import { type ColumnChange, columnsByName, predecessor } from './changes.ts'
import { ident } from './quoted.ts'
import type { Column, Schema, Table, TableIndex } from './tables.ts'

export type DataCheck =
  /** A column that becomes NOT NULL has a value in every row. `oldColumn` undefined: the table must be empty. */
  | { readonly kind: 'present'; readonly oldColumn: Column | undefined; readonly newColumn: Column }
  /** The model allows every value, after its conversion if the type changes. */
  | { readonly kind: 'values'; readonly oldColumn: Column; readonly newColumn: Column }
  /** No two rows have the same values. `columns`: before and after the migration. */
  | { readonly kind: 'unique'; readonly columns: readonly (readonly [Column | undefined, Column])[] }
  /** No two intervals overlap, and each ends after its start. `limit`: see `overlapText`. `columns`: all, as for `unique`. */
  | {
      readonly kind: 'overlap'
      readonly limit: string
      readonly columns: readonly (readonly [Column | undefined, Column])[]
    }
  /** Every value is the id of an item. `target`: the table's name before the migration; undefined: it is new. */
  | {
      readonly kind: 'target'
      readonly oldColumn: Column | undefined
      readonly newColumn: Column
      readonly target: string | undefined
    }

/** The checks of one table, which has the name `from` before the migration and `to` after it. */
export interface TableChecks {
  readonly from: string
  readonly to: string
  readonly checks: readonly DataCheck[]
}

interface MigratedTable {
  readonly from: Table
  readonly to: Table
  readonly columns: readonly ColumnChange[]
  /** The indexes that the migration creates. */
  readonly indexes: readonly TableIndex[]
  /** The limits that the rows may not fulfil yet. */
  readonly overlaps: readonly string[]
  readonly before: Schema
  readonly after: Schema
}

export function checksOf({
  from,
  to,
  columns,
  indexes,
  overlaps,
  before,
  after,
}: MigratedTable): TableChecks {
  const targetOf = ({ reference }: Column): string | undefined => {
    const target = after.tables.find(table => table.name === reference?.table)
    return target && predecessor(target, new Map(before.tables.map(table => [table.name, table])))?.name
  }
  const columnChecks = columns.flatMap((change): DataCheck[] => {
    if (change.kind === 'add') return newColumnChecks(change.newColumn, targetOf(change.newColumn))
    if (change.kind === 'reference' && change.newColumn.reference !== null)
      return [
        {
          kind: 'target',
          oldColumn: change.oldColumn,
          newColumn: change.newColumn,
          target: targetOf(change.newColumn),
        },
      ]
    if (change.kind === 'type' || (change.kind === 'values' && change.narrows === true))
      return [{ kind: 'values', oldColumn: change.oldColumn, newColumn: change.newColumn }]
    if (change.kind === 'set not null' && change.newColumn.initial === null)
      return [{ kind: 'present', oldColumn: change.oldColumn, newColumn: change.newColumn }]
    return []
  })
  return {
    from: from.name,
    to: to.name,
    checks: [
      ...columnChecks,
      ...indexes.flatMap(index => indexChecks(index, from, to)),
      ...overlaps.map(limit => ({ kind: 'overlap', limit, columns: columnPairs(from, to) }) as const),
    ],
  }
}

/** The columns after the migration, each with the one that it was before. */
function columnPairs(from: Table, to: Table): readonly (readonly [Column | undefined, Column])[] {
  const oldColumns = columnsByName(from)
  return to.columns.map(newColumn => [predecessor(newColumn, oldColumns), newColumn])
}

function newColumnChecks(newColumn: Column, target: string | undefined): DataCheck[] {
  if (newColumn.initial === null)
    return newColumn.optional ? [] : [{ kind: 'present', oldColumn: undefined, newColumn }]
  return newColumn.reference === null ? [] : [{ kind: 'target', oldColumn: undefined, newColumn, target }]
}

function indexChecks({ columns, unique }: TableIndex, from: Table, to: Table): DataCheck[] {
  if (!unique) return []
  const oldColumns = columnsByName(from)
  const newColumns = columnsByName(to)
  const columnPairs = columns.flatMap(name => {
    const newColumn = newColumns.get(name)
    return newColumn ? [[predecessor(newColumn, oldColumns), newColumn] as const] : []
  })
  // A new column that is null, or distinct in every row, makes the rows distinct.
  const isDistinct = columnPairs.some(
    ([oldColumn, newColumn]) =>
      oldColumn === undefined && (newColumn.initial === null || newColumn.initial.kind === 'uuid'),
  )
  return isDistinct ? [] : [{ kind: 'unique', columns: columnPairs }]
}

/** The same checks after the migration, for all values that were checked or converted, and for intervals. */
export function checksAfter({ to, checks }: TableChecks): TableChecks {
  return {
    from: to,
    to,
    checks: checks.flatMap((check): DataCheck[] => {
      if (check.kind === 'values') return [{ ...check, oldColumn: check.newColumn }]
      if (check.kind !== 'overlap') return []
      return [{ ...check, columns: check.columns.map(([, column]) => [column, column]) }]
    }),
  }
}

/** Rows that fail a check. */
export interface InvalidRows {
  readonly count: number
  /** The lowest id. */
  readonly example: number
  /** The id of another row with the same values. */
  readonly other?: number
  /** The requirement that the example fails, after "must". */
  readonly must?: string
}

/** Counts the values of a column that the model does not allow. */
export class ValueChecker {
  readonly #type: FieldType
  readonly #isValid: ReturnType<typeof compile>
  #invalid: InvalidRows | undefined

  constructor(type: FieldType) {
    this.#type = type
    this.#isValid = compile(type.schema)
  }

  static of(model: Model, table: string, newColumn: Column): ValueChecker | undefined {
    const type = model.collections.get(table)?.fields.get(newColumn.name)?.type
    return type && new ValueChecker(type)
  }

  /** `value` undefined: the stored one cannot be converted. In the order of ids. */
  add(id: number, value: JsonValue | undefined): void {
    const must = this.#fault(value)
    if (must === undefined) return
    const { count = 0, example = id, must: first = must } = this.#invalid ?? {}
    this.#invalid = { count: count + 1, example, must: first }
  }

  get invalid(): InvalidRows | undefined {
    return this.#invalid
  }

  #fault(value: JsonValue | undefined): string | undefined {
    const { name, schema, isDocument } = this.#type
    if (value === undefined || value === null) return `be convertible to ${name}`
    if (!this.#isValid(value)) return schemaFaults(schema, value, isDocument)[0]?.must ?? 'fit the model'
    try {
      const canonical = this.#type.canonical(value)
      return canonical === value ? undefined : `be written as ${brief(JSON.stringify(canonical))}`
    } catch (error) {
      if (error instanceof RangeError) return `fit: ${error.message.replace(/\.$/, '')}`
      throw error
    }
  }
}

/** Selects the number of rows that have the same values as another one, and the first two of them. */
export function duplicatesSql(table: string, values: readonly string[]): string {
  const names = values.map((_, index) => `"v${index}"`)
  const columns = values.map((value, index) => `${value} AS ${names[index]}`).join(', ')
  const present = names.map(name => `${name} IS NOT NULL`).join(' AND ')
  const groups = `SELECT count(*) AS "n", min("id") AS "id", max("id") AS "other" FROM (SELECT "id", ${columns} FROM ${ident(table)}) "r" WHERE ${present} GROUP BY ${names.join(', ')} HAVING count(*) > 1`
  return `SELECT sum("n") OVER () AS "n", "id", "other" FROM (${groups}) "g" ORDER BY "id" LIMIT 1`
}

/** Selects the number of rows that fulfil a condition, and the first of them. */
export function countSql(table: string, where: string): string {
  return `SELECT count(*) AS "n", min("id") AS "id" FROM ${ident(table)} WHERE ${where}`
}

/** `row`: the result of `duplicatesSql` or `countSql`. */
export function invalidRowsIn(row: Readonly<Record<string, unknown>> | undefined): InvalidRows | undefined {
  const count = Number(row?.n ?? 0)
  return count === 0 ? undefined : { count, example: Number(row?.id), other: Number(row?.other ?? 0) }
}

const itemsText = (count: number) => (count === 1 ? '1 item' : `${count} items`)

/** The message names the fault, an example, and the remedy. */
export function invalidRowsMessage(
  { from, to }: TableChecks,
  check: DataCheck,
  invalid: InvalidRows,
): string {
  const { count, example, other, must } = invalid
  const formerName = from === to ? '' : ` (of ${from})`
  const where = `e.g. item ${example}${formerName}`
  switch (check.kind) {
    case 'present': {
      const place = `${to}.${check.newColumn.name}`
      return check.oldColumn === undefined
        ? `${place}: ${itemsText(count)} would be without a value, ${where}. Give the field a default, or make it optional.`
        : `${place}: ${itemsText(count)} without a value, ${where}. Give them one, or give the field a default.`
    }
    case 'values':
      return `${to}.${check.newColumn.name}: ${itemsText(count)} with a value that the model does not allow, ${where}, which must ${must}. Change or delete them, or allow these values in the model.`
    case 'unique':
      return `${to}.${check.columns.map(([, newColumn]) => newColumn.name).join(', ')}: ${itemsText(count)} with a value that must be unique and is not, e.g. items ${example} and ${other}${formerName}. Change or delete all but one of those that share it.`
    case 'overlap':
      return !other
        ? `${to}: ${itemsText(count)} whose interval does not end after its start, ${where}, against ${check.limit}. Change or delete them.`
        : `${to}: at least ${itemsText(count)} whose interval overlaps with the next one, e.g. items ${example} and ${other}${formerName}, against ${check.limit}. Change or delete them.`
    case 'target':
      return `${to}.${check.newColumn.name}: ${itemsText(count)} would refer to items of ${check.newColumn.reference?.table} that do not exist, ${where}. Change them, or create those items first.`
  }
}
