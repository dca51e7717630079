/** What lists have in common on every database. */
import type { StoredValue } from '../../../model/fields/encoding.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { ListAnswer } from '../../plan/answer.ts'
import type { GuardedList } from '../../plan/guarded.ts'
import type { GuardedSort } from '../../plan/guarded-conditions.ts'
import { maxCounted, type PageWindow } from '../../plan/plan.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { Slice } from '../sql/read.ts'
import { arg, type Sql, sql } from '../sql/writer.ts'
import type { ResultRow, SqlValue } from '../values.ts'

export type CursorWindow = Extract<GuardedList['window'], { kind: 'cursor' }>

/** The rows after the position. The limit is one more than requested, to find out whether another page follows. */
export function cursorSlice({ sort }: GuardedList, window: CursorWindow, dialect: Dialect): Slice {
  const position = window.after?.map((param, index) => {
    return arg(param, sortAt(sort, index).field.field.type.encoding)
  })
  return {
    after: position,
    limit: sql`${dialect.limit(arg(window.limit))} + 1`,
    offset: undefined,
    keys: true,
  }
}

/** A sort key's value as a cursor carries it. */
function cursorKey({ field }: GuardedSort, value: SqlValue | undefined): JsonValue {
  if (value === null || value === undefined) return null
  return field.field.type.encoding.decode(value as StoredValue) ?? null
}

function sortAt(sort: readonly GuardedSort[], index: number): GuardedSort {
  const key = sort[index]
  if (key === undefined) throw new TypeError('a position needs one value per sort key')
  return key
}

/** The answer for a list whose parent is missing or hidden. */
export function absent({ kind }: GuardedList['window']): ListAnswer {
  return { kind: 'list', text: null, total: undefined, next: kind === 'cursor' ? null : undefined }
}

/** How many items match. */
export interface Total {
  readonly total: number
  readonly isEstimate: boolean
}

/** `row`: the result of a statement that counts. */
export function counted(row: ResultRow | undefined): Total {
  return { total: Number(row?.[0] ?? 0), isEstimate: false }
}

/** The number of rows to read for a page: one more than it shows, unless an exact total shows whether more follow. */
export function pageLimit({ limit, total }: PageWindow, dialect: Dialect): Sql {
  const rows = dialect.limit(arg(limit))
  return total === 'exact' ? rows : sql`${rows} + 1`
}

/** `rows`: at most as many as `pageLimit` allows. `count`: undefined if nothing was counted. */
export function pageAnswer(
  rows: readonly ResultRow[],
  count: Total | undefined,
  window: PageWindow,
  args: readonly JsonValue[],
): ListAnswer {
  const page = { kind: 'list', next: undefined } as const
  if (window.total === 'exact') return { ...page, text: arrayText(rows, rows.length), total: count?.total }
  const size = Number(args[window.limit])
  const shown = Math.min(size, rows.length)
  const hasMore = rows.length > size
  const text = arrayText(rows, shown)
  if (count === undefined) return { ...page, text, total: undefined, hasMore }
  const { total, isEstimate } = corrected(count, Number(args[window.offset]), shown, hasMore)
  return { ...page, text, total, hasMore, ...(isEstimate && { isEstimate }) }
}

/** Corrects an estimated total by what the page shows: a minimum, a maximum, or the exact number. */
function corrected(count: Total, offset: number, shown: number, hasMore: boolean): Total {
  if (!count.isEstimate) return count
  if (shown === 0) return { ...count, total: Math.min(count.total, Math.max(offset, maxCounted + 1)) }
  if (!hasMore) return { total: offset + shown, isEstimate: false }
  return { ...count, total: Math.max(count.total, offset + shown + 1) }
}

/** `rows`: the result of a `cursorSlice` for `size` items. */
export function cursorAnswer(
  rows: readonly ResultRow[],
  size: number,
  sort: readonly GuardedSort[],
): ListAnswer {
  const last = rows.length > size ? rows[size - 1] : undefined
  const next = last === undefined ? null : sort.map((key, index) => cursorKey(key, last[index + 1]))
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
