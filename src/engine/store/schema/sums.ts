/** The SQL of stored values: how much a row adds to the row that it refers to, and the values of all rows. */
import { fold, leavesOf } from '../../../base/predicate.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Rule, RuleLeaf } from '../../../model/rule/rule.ts'
import { columnsByName } from './changes.ts'
import { ident } from './quoted.ts'
import type { Column, Schema, StoredSum, Table } from './tables.ts'

/** A stored value, with the table that has it and the one from whose rows it is computed. */
export interface KeptSum extends StoredSum {
  readonly table: string
  readonly source: Table
}

/** How a constant of a column is written. */
type ConstantOf = (column: Column, value: JsonValue) => string

export function sumsOf({ tables }: Schema): readonly KeptSum[] {
  return tables.flatMap(({ name, sums = [] }) =>
    sums.map(sum => {
      const source = tables.find(table => table.name === sum.from)
      if (source === undefined) throw new Error(`there is no table ${sum.from}`)
      return { ...sum, table: name, source }
    }),
  )
}

/** The name of the triggers and functions that keep it. */
export function sumName({ table, column }: KeptSum): string {
  return `_sum_${table}.${column}`
}

/** The columns of the source that decide what a row adds, and to which row. */
export function decidingColumns({ by, add, where }: StoredSum): readonly string[] {
  return [...new Set([by, ...(add === null ? [] : [add]), ...columnsIn(where)])]
}

/** What a row of the source adds. */
export function amountSql({ add }: StoredSum, row: string): string {
  return add === null ? '1' : `coalesce(${row}.${ident(add)}, 0)`
}

/** Whether a row of the source counts. Never unknown. */
export function countsSql({ where, source }: KeptSum, row: string, constantOf: ConstantOf): string {
  const columns = columnsByName(source)
  const combined = (parts: readonly string[], operator: string, empty: string) =>
    parts.length === 0 ? empty : `(${parts.join(operator)})`
  return fold<RuleLeaf, string>(where, {
    and: parts => combined(parts, ' AND ', 'TRUE'),
    or: parts => combined(parts, ' OR ', 'FALSE'),
    not: part => `NOT ${part}`,
    leaf: leaf => {
      if (leaf.kind === 'compare') return compareSql(leaf, row, columns, constantOf)
      return leaf.kind === 'anyone' ? 'TRUE' : 'FALSE'
    },
  })
}

/** Sets the value in every row where it differs. */
export function fillSql(sum: KeptSum, constantOf: ConstantOf): string {
  const [table, column] = [ident(sum.table), ident(sum.column)]
  const rows = `${ident(sum.from)} AS "r" WHERE "r".${ident(sum.by)} = "p"."id" AND ${countsSql(sum, '"r"', constantOf)}`
  const value = `coalesce((SELECT sum(${amountSql(sum, '"r"')}) FROM ${rows}), 0)`
  return `UPDATE ${table} SET ${column} = "s"."n" FROM (SELECT "p"."id", ${value} AS "n" FROM ${table} AS "p") AS "s" WHERE "s"."id" = ${table}."id" AND ${table}.${column} <> "s"."n"`
}

const symbols = { eq: '=', ne: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

function compareSql(
  { field, comparison, operand }: Rule & { readonly kind: 'compare' },
  row: string,
  columns: ReadonlyMap<string, Column>,
  constantOf: ConstantOf,
): string {
  const column = columns.get(field)
  if (column === undefined || operand.kind !== 'literal')
    throw new Error(`${field} is not compared with a constant`)
  const value = `${row}.${ident(field)}`
  if (operand.value === null) return comparison === 'eq' ? `${value} IS NULL` : `${value} IS NOT NULL`
  const constants = [operand.value].flat().flatMap(each => (each === null ? [] : constantOf(column, each)))
  if (comparison !== 'in') return `(${value} ${symbols[comparison]} ${constants[0]}) IS TRUE`
  return constants.length === 0 ? 'FALSE' : `(${value} IN (${constants.join(', ')})) IS TRUE`
}

function columnsIn(rule: Rule): readonly string[] {
  return leavesOf(rule).flatMap(leaf => (leaf.kind === 'compare' ? [leaf.field] : []))
}
