/** The checks that the rows of a table must pass before its steps run, and the messages about those that fail. */

import type { FieldType } from '../../model/fields/field-type.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import { compile } from '../../model/json-schema/compile.ts'
import { brief, schemaFaults } from '../../model/json-schema/faults.ts'
import type { Model } from '../../model/model.ts'
import { type ColumnChange, columnsByName, predecessor } from './changes.ts'
import { ident } from './quoted.ts'
import type { Column, Schema, Table, TableIndex } from './tables.ts'

export type DataCheck =
  /** A column that becomes NOT NULL has a value in every row. `was` undefined: the table must be empty. */
  | { readonly kind: 'present'; readonly was: Column | undefined; readonly is: Column }
  /** The model allows every value, after its conversion if the type changes. */
  | { readonly kind: 'values'; readonly was: Column; readonly is: Column }
  /** No two rows have the same values. `columns`: before and after the migration. */
  | { readonly kind: 'unique'; readonly columns: readonly (readonly [Column | undefined, Column])[] }
  /** Every value is the id of an item. `target`: the table's name before the migration; undefined: it is new. */
  | {
      readonly kind: 'target'
      readonly was: Column | undefined
      readonly is: Column
      readonly target: string | undefined
    }

/** The checks of one table, which has the name `from` before the migration and `to` after it. */
export interface TableChecks {
  readonly from: string
  readonly to: string
  readonly checks: readonly DataCheck[]
}

interface Change {
  readonly from: Table
  readonly to: Table
  readonly columns: readonly ColumnChange[]
  /** The indexes that the migration creates. */
  readonly indexes: readonly TableIndex[]
  readonly before: Schema
  readonly after: Schema
}

export function checksOf({ from, to, columns, indexes, before, after }: Change): TableChecks {
  const targetOf = ({ reference }: Column): string | undefined => {
    const target = after.tables.find(table => table.name === reference?.table)
    return target && predecessor(target, new Map(before.tables.map(table => [table.name, table])))?.name
  }
  const ofColumns = columns.flatMap((change): DataCheck[] => {
    if (change.kind === 'add') return ofNewColumn(change.is, targetOf(change.is))
    if (change.kind === 'reference' && change.is.reference !== null)
      return [{ kind: 'target', was: change.was, is: change.is, target: targetOf(change.is) }]
    if (change.kind === 'type' || (change.kind === 'values' && change.narrows === true))
      return [{ kind: 'values', was: change.was, is: change.is }]
    if (change.kind === 'set not null' && change.is.initial === null)
      return [{ kind: 'present', was: change.was, is: change.is }]
    return []
  })
  return {
    from: from.name,
    to: to.name,
    checks: [...ofColumns, ...indexes.flatMap(index => ofIndex(index, from, to))],
  }
}

function ofNewColumn(is: Column, target: string | undefined): DataCheck[] {
  if (is.initial === null) return is.optional ? [] : [{ kind: 'present', was: undefined, is }]
  return is.reference === null ? [] : [{ kind: 'target', was: undefined, is, target }]
}

function ofIndex({ columns, unique }: TableIndex, from: Table, to: Table): DataCheck[] {
  if (!unique) return []
  const old = columnsByName(from)
  const wanted = columnsByName(to)
  const columnPairs = columns.flatMap(name => {
    const is = wanted.get(name)
    return is ? [[predecessor(is, old), is] as const] : []
  })
  // A new column that is null, or distinct in every row, makes the rows distinct.
  const isDistinct = columnPairs.some(
    ([was, is]) => was === undefined && (is.initial === null || is.initial.kind === 'uuid'),
  )
  return isDistinct ? [] : [{ kind: 'unique', columns: columnPairs }]
}

/** The same checks after the migration, for all values that were checked or converted. */
export function checksAfter({ to, checks }: TableChecks): TableChecks {
  return {
    from: to,
    to,
    checks: checks.flatMap(check => (check.kind === 'values' ? [{ ...check, was: check.is }] : [])),
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

  static of(model: Model, table: string, is: Column): ValueChecker | undefined {
    const type = model.collections.get(table)?.fields.get(is.name)?.type
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
    if (value === undefined || value === null) return `can be turned into ${name}`
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
export function sharedSql(table: string, values: readonly string[]): string {
  const names = values.map((_, at) => `"v${at}"`)
  const columns = values.map((value, at) => `${value} AS ${names[at]}`).join(', ')
  const present = names.map(name => `${name} IS NOT NULL`).join(' AND ')
  const groups = `SELECT count(*) AS "n", min("id") AS "id", max("id") AS "other" FROM (SELECT "id", ${columns} FROM ${ident(table)}) "r" WHERE ${present} GROUP BY ${names.join(', ')} HAVING count(*) > 1`
  return `SELECT sum("n") OVER () AS "n", "id", "other" FROM (${groups}) "g" ORDER BY "id" LIMIT 1`
}

const itemsText = (count: number) => (count === 1 ? '1 item' : `${count} items`)

/** The message: what is wrong, with which rows, and what to do. */
export function invalidRowsMessage(
  { from, to }: TableChecks,
  check: DataCheck,
  invalid: InvalidRows,
): string {
  const { count, example, other, must } = invalid
  const of = from === to ? '' : ` (of ${from})`
  const where = `e.g. item ${example}${of}`
  switch (check.kind) {
    case 'present': {
      const place = `${to}.${check.is.name}`
      return check.was === undefined
        ? `${place}: ${itemsText(count)} would be without a value, ${where}. Give the field a default, or make it optional.`
        : `${place}: ${itemsText(count)} without a value, ${where}. Give them one, or give the field a default.`
    }
    case 'values':
      return `${to}.${check.is.name}: ${itemsText(count)} with a value that the model does not allow, ${where}, which must ${must}. Change or delete them, or let the model allow what they have.`
    case 'unique':
      return `${to}.${check.columns.map(([, is]) => is.name).join(', ')}: ${itemsText(count)} with a value that must be unique and is not, e.g. items ${example} and ${other}${of}. Change or delete all but one of those that share it.`
    case 'target':
      return `${to}.${check.is.name}: ${itemsText(count)} would refer to items of ${check.is.reference?.table} that do not exist, ${where}. Change them, or create those items first.`
  }
}
