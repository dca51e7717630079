/**
 * A dialect in which every JSON expression is the number of its bytes, so that the statement of an answer becomes that of its
 * size. PostgreSQL knows the length of a text without reading it. Escapes are not counted, and short values count as one byte:
 * the size is never more than that of the answer.
 */
import type { Dialect, Encoded } from './dialect.ts'
import { join, type Sql, sql } from './writer.ts'

const nullBytes = 4

export function measuring(dialect: Dialect): Dialect {
  return {
    ...dialect,
    counted: undefined,
    countedAs: undefined,
    boundedText: undefined,
    object: entries => sizeSum(entries.map(([key, value]) => ({ bytes: key.length + 3, value }))),
    tuple: items => sizeSum(items.map(value => ({ bytes: 0, value }))),
    array: item => sql`coalesce(sum(${item} + 1), 0) + 2`,
    json: (column, field) => (isMeasured(field) ? sql`octet_length(${column}::text) + 2` : one),
    string: text => sql`octet_length(${text})`,
    constant: text => [String(text.length)],
    count: sql`max(1)`,
    text: size => size,
  }
}

const one: Sql = ['1']

/** Not of numbers, times and truth values, which are short. */
function isMeasured({ type: { encoding } }: Encoded): boolean {
  return encoding.maxBytes === undefined
}

/** With the commas between the parts, and the brackets around them. */
function sizeSum(parts: readonly { readonly bytes: number; readonly value: Sql }[]): Sql {
  const fixed = parts.reduce((sum, { bytes }) => sum + bytes + 1, 1)
  const values = parts.map(({ value }) => sql`coalesce(${value}, ${[String(nullBytes)]})`)
  return sql`(${join([[String(fixed)], ...values], ' + ')})`
}
