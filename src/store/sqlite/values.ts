/** JSON values as SQLite takes them. */
import type { JsonValue } from '../../model/fields/type.ts'
import type { Conversion } from '../sql/writer.ts'
import { convert, type SqlValue } from '../values.ts'
import { wordsOf } from '../words.ts'

export function converted(value: JsonValue | undefined, as: Conversion): SqlValue {
  return as === 'words' && value !== null && value !== undefined ? searchQuery(value) : convert(value, as)
}

/** An FTS5 query for all the words; the empty phrase, which matches nothing, where there are none. */
function searchQuery(value: JsonValue): string {
  const words = wordsOf(String(value)).map(word => `"${word}"`)
  return words.length === 0 ? '""' : `(${words.join(' AND ')})`
}
