/** What lists have in common on every database. */
import type { JsonValue } from '../model/fields/type.ts'
import type { ListAnswer } from '../plan/answer.ts'
import type { GuardedList, GuardedSort } from '../plan/guarded.ts'
import type { Dialect } from './sql/dialect.ts'
import type { Slice } from './sql/read.ts'
import { arg, sql } from './sql/writer.ts'
import type { ResultRow, SqlValue } from './values.ts'

export type CursorWindow = Extract<GuardedList['window'], { kind: 'cursor' }>

/** The rows after the position, one more than is asked for: it tells whether another page follows. */
export function cursorSlice({ sort }: GuardedList, window: CursorWindow, dialect: Dialect): Slice {
  const position = window.after?.map((param, index) => {
    const { encoding } = sortAt(sort, index).field.field.type
    return arg(param, encoding)
  })
  return {
    after: position,
    limit: sql`${dialect.limit(arg(window.limit, 'number'))} + 1`,
    offset: undefined,
    keys: true,
  }
}

/** A sort key's value as a cursor carries it. */
function cursorKey({ field }: GuardedSort, value: SqlValue | undefined): JsonValue {
  if (value === null || value === undefined) return null
  if (field.field.type.encoding === 'boolean') return value === 1
  return typeof value === 'number' ? value : String(value)
}

function sortAt(sort: readonly GuardedSort[], index: number): GuardedSort {
  const each = sort[index]
  if (each === undefined) throw new TypeError('a position needs one value per sort key')
  return each
}

/** The answer for a list whose parent is missing or hidden. */
export function absent({ kind }: GuardedList['window']): ListAnswer {
  return { kind: 'list', text: null, total: undefined, next: kind === 'cursor' ? null : undefined }
}

/** `rows`: a page's. */
export function pageAnswer(rows: readonly ResultRow[], total: number | undefined): ListAnswer {
  return { kind: 'list', text: arrayText(rows, rows.length), total, next: undefined }
}

/** `rows`: of a `cursorSlice` for `size` items. */
export function cursorAnswer(
  rows: readonly ResultRow[],
  size: number,
  sort: readonly GuardedSort[],
): ListAnswer {
  const last = rows.length > size ? rows[size - 1] : undefined
  const next = last === undefined ? null : sort.map((each, index) => cursorKey(each, last[index + 1]))
  return { kind: 'list', text: arrayText(rows, Math.min(size, rows.length)), total: undefined, next }
}

/** The JSON array of the first `size` rows' texts. */
function arrayText(rows: readonly ResultRow[], size: number): string {
  let text = '['
  for (let index = 0; index < size; index++) {
    if (index > 0) text += ','
    text += String(rows[index]?.[0])
  }
  return `${text}]`
}
