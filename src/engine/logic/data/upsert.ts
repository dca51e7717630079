/** The key of an upsert: a unique field, or the fields of a unique index. */
import { ApiError } from '../../../base/errors.ts'
import type { JsonObject } from '../../../model/fields/type.ts'
import type { Collection } from '../../../model/model.ts'
import { badCall, badValue } from './call-error.ts'
import { separateIncrements } from './increments.ts'

/** What an upsert looks for, and what it changes where it finds it. */
export interface UpsertKey {
  readonly fields: readonly string[]
  readonly where: { readonly [field: string]: { readonly eq: JsonObject[string] } }
  readonly others: JsonObject
}

/** Throws BAD_REQUEST if the fields are not unique, or one has no value (items without one are exempt), and for increments. */
export function upsertKeyOf(
  by: unknown,
  values: JsonObject,
  collection: Collection,
  place: string,
): UpsertKey {
  const fields: readonly string[] = [by].flat().map(String)
  const unique = uniqueSets(collection)
  if (!unique.some(set => set.length === fields.length && set.every(name => fields.includes(name)))) {
    const known = unique.map(set => set.join(' and ')).join(', ')
    throw badCall(
      `${place}: by`,
      `must be a unique field, or the fields of a unique index: ${known || 'there is none'}.`,
    )
  }
  const entries = Object.entries(Object(values) as JsonObject)
  const key = entries.filter(([name, value]) => fields.includes(name) && (value ?? null) !== null)
  if (key.length < fields.length) throw badValue(place, `needs a value of ${fields.join(' and ')}.`)
  const [incremented] = Object.keys(separateIncrements(values, collection, place).increments)
  if (incremented !== undefined)
    throw badCall(`${place}: ${incremented}`, 'must be a value, since a new item has none to increment.')
  return {
    fields,
    where: Object.fromEntries(key.map(([name, value]) => [name, { eq: value }])),
    others: Object.fromEntries(entries.filter(([name]) => !fields.includes(name))),
  }
}

function uniqueSets({ fields, indexes }: Collection): readonly (readonly string[])[] {
  const singles = [...fields.values()].filter(({ unique }) => unique).map(({ name }) => [name])
  const sets = indexes.filter(({ unique }) => unique).map(({ keys }) => keys.map(({ field }) => field))
  return [...singles, ...sets]
}

/** Whether another write came between the search and the write. */
export function isOvertaken(error: unknown, hasFound: boolean): boolean {
  if (!(error instanceof ApiError)) return false
  return hasFound
    ? error.code === 'PRECONDITION_FAILED' || error.code === 'NOT_FOUND'
    : error.code === 'CONFLICT'
}
