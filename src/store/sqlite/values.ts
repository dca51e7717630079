/** What a statement's parameters are bound to. */
import type { JsonValue } from '../../model/fields/type.ts'
import type { Bind, Conversion } from '../sql/writer.ts'
import { convert, type Inputs, type SqlValue } from '../values.ts'
import { wordsOf } from '../words.ts'

export function bound(bind: Bind, { args, userId, slots }: Inputs): SqlValue {
  switch (bind.from) {
    case 'arg':
      return converted(args[bind.param], bind.as)
    case 'slot':
      return slots[bind.slot] ?? null
    case 'userId':
      return userId
    case 'constant':
      return converted(bind.value, bind.as)
  }
}

function converted(value: JsonValue | undefined, as: Conversion): SqlValue {
  return as === 'words' && value !== null && value !== undefined ? searchQuery(value) : convert(value, as)
}

/** An FTS5 query for all the words; the empty phrase, which matches nothing, where there are none. */
function searchQuery(value: JsonValue): string {
  const words = wordsOf(String(value)).map(word => `"${word}"`)
  return words.length === 0 ? '""' : `(${words.join(' AND ')})`
}
