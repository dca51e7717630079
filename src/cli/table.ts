/** Formats the lists that commands print as text tables. */
import type { JsonValue } from '../model/fields/type.ts'
import { printable } from '../printable.ts'

/** The shown values of one item, by field name. */
export type Listed = Readonly<Record<string, JsonValue>>

function cellOf(value: JsonValue | undefined): string {
  return printable(Array.isArray(value) ? value.join(' ') : String(value ?? '–'))
}

/** Returns aligned columns with a header. */
export function table(names: readonly string[], items: readonly Listed[]): string {
  const cells = [[...names], ...items.map(item => names.map(name => cellOf(item[name])))]
  // Not `Math.max(...)`: V8 bounds the number of arguments, and there may be more items.
  const widths = names.map((_, at) =>
    cells.reduce((width, line) => Math.max(width, line[at]?.length ?? 0), 0),
  )
  return cells
    .map(line =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Returns the table, or the sentence `empty` if there are no items. */
export function tableOr(empty: string, names: readonly string[], items: readonly Listed[]): string {
  return items.length === 0 ? `${empty}\n` : `${table(names, items)}\n`
}
