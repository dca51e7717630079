/** What a command lists, as a table of text. */
import type { JsonValue } from '../model/fields/type.ts'

/** What is shown of one item, by field name. */
export type Listed = Readonly<Record<string, JsonValue>>

/** Control characters and bidirectional controls are shown as their code: they could move the cursor of a terminal. */
function escaped(text: string): string {
  const code = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, code)
}

function cellOf(value: JsonValue | undefined): string {
  return escaped(Array.isArray(value) ? value.join(' ') : String(value ?? '–'))
}

/** Aligned columns under their names. */
export function table(names: readonly string[], items: readonly Listed[]): string {
  const cells = [[...names], ...items.map(item => names.map(name => cellOf(item[name])))]
  const widths = names.map((_, at) => Math.max(...cells.map(line => line[at]?.length ?? 0)))
  return cells
    .map(line =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The table, or a sentence where there is nothing to list. */
export function tableOr(empty: string, names: readonly string[], items: readonly Listed[]): string {
  return items.length === 0 ? `${empty}\n` : `${table(names, items)}\n`
}
