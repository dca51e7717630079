/**
 * The rank of an item in a search; higher is better. It depends only on the item itself, and only on fields that the
 * caller may read in every item.
 */
import type { Collection, Field } from '../../model/model.ts'
import type { Sort } from './order.ts'

/** The name of the sort key. No field can have it: it is a parameter of every list. */
export const rankKey = 'q'
/** Only the newest matches are ranked, at most this many. The others follow, newest first. */
export const maxRankedItems = 10_000
/** The rank of a match beyond `maxRankedItems`. */
export const unranked = -1
/** A field with all the terms adds `fieldWeight / (shortestLength + its length in bytes of UTF-8)`, rounded down. */
export const fieldWeight = 1_000_000_000
export const shortestLength = 100

export function isByRank(sort: readonly Sort[]): boolean {
  return sort.some(key => key.field === rankKey)
}

/** The fault of a sort by rank, as a predicate; undefined if there is none. */
export function rankFault(sort: readonly Sort[], isSearch: boolean): string | undefined {
  if (!isByRank(sort)) return undefined
  if (!isSearch) return 'is only possible in a search'
  const [first, second, ...others] = sort
  const isNewest = second === undefined || (second.field === 'id' && second.descending)
  if (first?.field !== rankKey || !isNewest || others.length > 0) return 'must be the only sort key'
  return first.descending ? undefined : 'must be descending: the best match first'
}

/** The sort key of a list by rank, as a field: a whole number, like the ids. */
export function rankField({ fields }: Collection): Field {
  const id = fields.get('id')
  if (!id) throw new Error('a collection has an id')
  return { ...id, name: rankKey }
}
