/** Cursors: a position in a list as opaque text, valid only for the collection and order that it was created for. */
import { hash } from 'node:crypto'
import { ApiError } from '../../base/errors.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Collection, Field } from '../../model/model.ts'
import type { Sort, TotalOrder } from './order.ts'
import { rankField, rankKey } from './rank.ts'

/** In characters. Longer cursors may not fit into a URL, so they are neither created nor accepted. */
export const MAX_CURSOR_LENGTH = 6000

/** The cursors of one collection in one order. Created once per shape. */
export interface Cursors {
  /** `keys`: one value per sort key. Throws BAD_REQUEST when they are too long for a cursor. */
  encode(keys: readonly JsonValue[]): string
  /** The sort keys. Throws INVALID_CURSOR for anything that `encode` did not return for this list. */
  decode(text: string): readonly JsonValue[]
}

/** Throws an `Error` when `order` names a field that the collection does not have. */
export function cursorsOf(collection: Collection, order: TotalOrder): Cursors {
  const fields = order.map(key => sortField(collection, key))
  const binding = hash('sha256', JSON.stringify([collection.name, order]), 'base64url').slice(0, 8)
  return {
    encode(values) {
      const text = Buffer.from(JSON.stringify([binding, ...values])).toString('base64url')
      if (text.length > MAX_CURSOR_LENGTH) throw tooLong(order)
      return text
    },
    decode(text) {
      const [encodedBinding, ...values] = parse(text)
      const fits = values.length === fields.length && fields.every((field, i) => isKey(field, values[i]))
      if (encodedBinding !== binding || !fits) throw new ApiError('INVALID_CURSOR')
      return values
    },
  }
}

function sortField(collection: Collection, { field: name }: Sort): Field {
  const field =
    name === rankKey ? rankField(collection) : (collection.fields.get(name) ?? collection.computed.get(name))
  if (!field) throw new Error(`${collection.name} has no field ${name} to sort by`)
  return field
}

function tooLong(keys: readonly Sort[]): ApiError {
  const names = keys.map(key => key.field).join(', ')
  return new ApiError(
    'BAD_REQUEST',
    `The values of ${names} are too long for a cursor. Sort by other fields, or, in REST, use page.`,
  )
}

function parse(text: string): readonly JsonValue[] {
  if (text.length > MAX_CURSOR_LENGTH || !/^[A-Za-z0-9_-]+$/.test(text)) throw new ApiError('INVALID_CURSOR')
  try {
    const parsed: JsonValue = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (Array.isArray(parsed)) return parsed
  } catch {
    // Not JSON: refused below, like any other text that is not a cursor.
  }
  throw new ApiError('INVALID_CURSOR')
}

/** Null is a valid key where the value may be missing, or hidden from the caller. */
function isKey(field: Field, value: JsonValue | undefined): boolean {
  if (value === null) return field.optional || field.access.read.kind !== 'anyone'
  return value !== undefined && field.type.encoding.isSortKey(value)
}
