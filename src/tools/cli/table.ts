/** Formats the lists that commands print as text tables. */

import { printable } from '../../base/printable.ts'
import type { JsonValue } from '../../model/fields/type.ts'

/** The values of one row, by column. */
export type TableRow = Readonly<Record<string, JsonValue>>

function cellOf(value: JsonValue | undefined): string {
  return printable(Array.isArray(value) ? value.join(' ') : String(value ?? '–'))
}

/** Returns aligned columns with a header. */
export function table(names: readonly string[], rows: readonly TableRow[]): string {
  const cells = [[...names], ...rows.map(row => names.map(name => cellOf(row[name])))]
  // Not `Math.max(...)`: V8 bounds the number of arguments, and there may be more rows.
  const widths = names.map((_, column) =>
    cells.reduce((width, line) => Math.max(width, line[column]?.length ?? 0), 0),
  )
  return cells
    .map(line =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Returns the table, or the sentence `empty` if it has no rows. */
export function tableOr(empty: string, names: readonly string[], rows: readonly TableRow[]): string {
  return rows.length === 0 ? `${empty}\n` : `${table(names, rows)}\n`
}
