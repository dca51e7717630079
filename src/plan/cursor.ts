/** Cursors: where a list goes on, as an opaque text that fits only the list and sort that gave it out. */
import { hash } from 'node:crypto'
import { ApiError } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { Collection, Field } from '../model/model.ts'
import type { Sort } from './plan.ts'
import { rankField, rankKey } from './rank.ts'

/** In characters. Longer ones are neither given out nor taken: they would not fit into a URL. */
export const MAX_CURSOR_LENGTH = 6000

/**
 * The sort keys that a list is really ordered by: up to and including `id`, which makes the order total.
 * Where `id` is not among them it goes the way of the last key, so that an index on that key serves the order.
 */
export function effectiveSort(sort: readonly Sort[]): readonly Sort[] {
  const id = sort.findIndex(key => key.field === 'id')
  if (id >= 0) return sort.slice(0, id + 1)
  return [...sort, { field: 'id', descending: sort.at(-1)?.descending ?? false }]
}

/** Makes and reads the cursors of one list: a collection in a given order. Make it once per shape. */
export interface Cursors {
  /** `keys`: one value per sort key of `effectiveSort`. Throws BAD_REQUEST when they are too long for a cursor. */
  encode(keys: readonly JsonValue[]): string
  /** The sort keys. Throws INVALID_CURSOR for anything that `encode` did not make for this list. */
  decode(text: string): readonly JsonValue[]
}

/** Throws an `Error` when `sort` names a field that the collection does not have. */
export function cursorsOf(collection: Collection, sort: readonly Sort[]): Cursors {
  const keys = effectiveSort(sort)
  const fields = keys.map(key => sortField(collection, key))
  const binding = hash('sha256', JSON.stringify([collection.name, keys]), 'base64url').slice(0, 8)
  return {
    encode(values) {
      const text = Buffer.from(JSON.stringify([binding, ...values])).toString('base64url')
      if (text.length > MAX_CURSOR_LENGTH) throw tooLong(keys)
      return text
    },
    decode(text) {
      const [bound, ...values] = parse(text)
      const fits = values.length === fields.length && fields.every((field, i) => isKey(field, values[i]))
      if (bound !== binding || !fits) throw new ApiError('INVALID_CURSOR')
      return values
    },
  }
}

function sortField(collection: Collection, { field: name }: Sort): Field {
  const field = name === rankKey ? rankField(collection) : collection.fields.get(name)
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
    // Not JSON: refused below like everything else that is not a cursor.
  }
  throw new ApiError('INVALID_CURSOR')
}

/** A missing value is a key too: it may be missing, or hidden from the caller. */
function isKey(field: Field, value: JsonValue | undefined): boolean {
  if (value === null) return field.name !== 'id'
  switch (field.type.encoding) {
    case 'number':
      return isNumber(value, field.type.column.sqlite === 'INTEGER')
    case 'boolean':
      return typeof value === 'boolean'
    case 'json':
      return false
    default:
      // PostgreSQL's text can hold neither U+0000 nor lone surrogates.
      return typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
  }
}

function isNumber(value: JsonValue | undefined, whole: boolean): boolean {
  return whole ? Number.isSafeInteger(value) : Number.isFinite(value)
}
