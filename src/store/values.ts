/** JSON values as SQLite takes them. */
import type { SQLInputValue } from 'node:sqlite'
import type { JsonValue } from '../model/fields/type.ts'
import type { Bind, Conversion } from './sql/writer.ts'
import { wordsOf } from './words.ts'

export type SqlValue = SQLInputValue

/** What a statement is run with. */
export interface Inputs {
  readonly args: readonly JsonValue[]
  readonly userId: number | null
  readonly slots: readonly SqlValue[]
}

export const noSlots: readonly SqlValue[] = []

export function convert(value: JsonValue | undefined, as: Conversion): SqlValue {
  if (value === null || value === undefined) return null
  if (as === 'words') return searchQuery(value)
  if (as === 'json' || as === 'list') return JSON.stringify(value)
  if (typeof value === 'boolean') return value ? 1 : 0
  return typeof value === 'object' ? JSON.stringify(value) : value
}

/** An FTS5 query for all the words; the empty phrase, which matches nothing, where there are none. */
function searchQuery(value: JsonValue): string {
  const words = wordsOf(String(value)).map(word => `"${word}"`)
  return words.length === 0 ? '""' : `(${words.join(' AND ')})`
}

export function bound(bind: Bind, { args, userId, slots }: Inputs): SqlValue {
  switch (bind.from) {
    case 'arg':
      return convert(args[bind.param], bind.as)
    case 'slot':
      return slots[bind.slot] ?? null
    case 'userId':
      return userId
    case 'constant':
      return convert(bind.value, bind.as)
  }
}
