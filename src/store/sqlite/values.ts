/** JSON values as SQLite takes them. */
import type { JsonValue } from '../../model/fields/type.ts'
import { searchTerms } from '../../plan/text-search.ts'
import type { Conversion } from '../sql/writer.ts'
import { convert, type SqlValue } from '../values.ts'

export function converted(value: JsonValue | undefined, as: Conversion): SqlValue {
  return as === 'words' && value !== null && value !== undefined ? searchQuery(value) : convert(value, as)
}

/** An FTS5 query for all the terms; the empty phrase, which matches nothing, where there are none. */
function searchQuery(value: JsonValue): string {
  const terms = searchTerms(String(value)).map(term => `"${term}"`)
  return terms.length === 0 ? '""' : `(${terms.join(' AND ')})`
}
