/** The SQL of stored values: how much a row adds to the row that it refers to, and the values of all rows. */
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Rule } from '../../../model/rule/rule.ts'
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
  const sqlOf = (rule: Rule): string => {
    switch (rule.kind) {
      case 'and':
      case 'or': {
        const [operator, empty] = rule.kind === 'and' ? [' AND ', 'TRUE'] : [' OR ', 'FALSE']
        return rule.parts.length === 0 ? empty : `(${rule.parts.map(sqlOf).join(operator)})`
      }
      case 'not':
        return `NOT ${sqlOf(rule.part)}`
      case 'compare':
        return compareSql(rule, row, columns, constantOf)
      default:
        return rule.kind === 'anyone' ? 'TRUE' : 'FALSE'
    }
  }
  return sqlOf(where)
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
  if (rule.kind === 'compare') return [rule.field]
  if (rule.kind === 'not') return columnsIn(rule.part)
  return rule.kind === 'and' || rule.kind === 'or' ? rule.parts.flatMap(columnsIn) : []
}
