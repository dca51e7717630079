/** What lists have in common on every database. */
import type { JsonValue } from '../model/fields/type.ts'
import type { GuardedList, GuardedSort } from '../plan/guarded.ts'
import type { Dialect } from './sql/dialect.ts'
import type { Slice } from './sql/read.ts'
import { arg, sql } from './sql/writer.ts'
import type { ResultRow, SqlValue } from './values.ts'

type CursorWindow = Extract<GuardedList['window'], { kind: 'cursor' }>

/** The rows after the position, one more than is asked for: it tells whether another page follows. */
export function cursorSlice({ sort }: GuardedList, window: CursorWindow, dialect: Dialect): Slice {
  const position = window.after?.map((param, index) => {
    const { encoding } = sortAt(sort, index).field.field.type
    return arg(param, encoding)
  })
  return { after: position, limit: sql`${dialect.limit(window.limit)} + 1`, offset: undefined, keys: true }
}

/** A sort key's value as a cursor carries it. */
export function cursorKey({ field }: GuardedSort, value: SqlValue | undefined): JsonValue {
  if (value === null || value === undefined) return null
  if (field.field.type.encoding === 'boolean') return value === 1
  return typeof value === 'number' ? value : String(value)
}

function sortAt(sort: readonly GuardedSort[], index: number): GuardedSort {
  const each = sort[index]
  if (each === undefined) throw new TypeError('a position needs one value per sort key')
  return each
}

/** The JSON array of the first `size` rows' texts. */
export function arrayText(rows: readonly ResultRow[], size = rows.length): string {
  let text = '['
  for (let index = 0; index < size; index++) {
    if (index > 0) text += ','
    text += String(rows[index]?.[0])
  }
  return `${text}]`
}
