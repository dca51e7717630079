/** The formats in which lists and aggregates are exported: CSV (RFC 4180) and NDJSON. */
import { csvRow } from '../../../base/csv-row.ts'
import type { SelectedAggregate } from '../../../engine/plan/plan.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'

/** A column, and the keys that lead to its value in a row. */
export interface Column {
  readonly name: string
  readonly path: readonly string[]
}

export interface ExportFormat {
  readonly mediaType: string
  readonly extension: string
  /** Whether a row can contain other rows. */
  readonly isNested: boolean
  /** What precedes the rows. */
  head(columns: readonly Column[]): string
  row(row: JsonObject, columns: readonly Column[]): string
}

/**
 * A spreadsheet would compute these texts (OWASP, CSV Injection): it shows an apostrophe before them as text. Where it separates
 * cells by semicolons or tabs, what follows one is a cell of its own.
 */
const formula = /^[=+\-@\t\r\n＝＋－＠]|[;\t]\s*[=+\-@＝＋－＠]/

function cell(value: JsonValue | undefined): string | undefined {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'string') return formula.test(value) ? `'${value}` : value
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function valueAt(row: JsonObject, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (value, key) => (typeof value === 'object' && value !== null ? (value as JsonObject)[key] : undefined),
    row,
  )
}

export const csv: ExportFormat = {
  mediaType: 'text/csv; charset=utf-8; header=present',
  extension: 'csv',
  isNested: false,
  head: columns => csvRow(columns.map(({ name }) => cell(name))),
  row: (row, columns) => csvRow(columns.map(({ path }) => cell(valueAt(row, path)))),
}

export const ndjson: ExportFormat = {
  mediaType: 'application/x-ndjson',
  extension: 'ndjson',
  isNested: true,
  head: () => '',
  row: row => `${JSON.stringify(row)}\n`,
}

/** The columns of aggregates: the group keys, `count`, `sum.points`. */
export function aggregateColumns(select: readonly SelectedAggregate[], within?: string): readonly Column[] {
  return select.flatMap(selected => {
    if (selected.kind === 'object') return aggregateColumns(selected.select, selected.key)
    const { key } = selected
    return within === undefined
      ? [{ name: key, path: [key] }]
      : [{ name: `${within}.${key}`, path: [within, key] }]
  })
}
