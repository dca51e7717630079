/** `sort=-created_at,title` → the order of a list. */
import { findSortable, quoted } from '../../../engine/plan/names.ts'
import { type Sort, type TotalOrder, totalOrder } from '../../../engine/plan/order.ts'
import { rankFault, rankKey } from '../../../engine/plan/rank.ts'
import type { CollectionView } from './collection-view.ts'
import { parameterFault, refuseIn } from './query-string.ts'
import { parseNames } from './select.ts'

const maxSortKeys = 8

/** `value` undefined: the parameter was omitted. Throws BAD_REQUEST, naming the parameter. */
export function parseSort(view: CollectionView, value: string | undefined, isSearch: boolean): TotalOrder {
  const sort: Sort[] = []
  for (const listedKey of value === undefined ? [] : parseNames('sort', value, maxSortKeys)) {
    const descending = listedKey.startsWith('-')
    const field = descending ? listedKey.slice(1) : listedKey
    const isRank = field === rankKey && view.searched.length > 0
    if (!isRank) findSortable(view, field, refuseIn('sort'))
    if (sort.some(earlier => earlier.field === field)) {
      throw parameterFault('sort', 'given_twice', `The parameter "sort" lists ${quoted(field)} twice.`)
    }
    sort.push({ field, descending })
  }
  requireRank(sort, isSearch)
  return totalOrder(sort)
}

/** A sort by rank must be the only key, descending, and needs a search. */
function requireRank(sort: readonly Sort[], isSearch: boolean): void {
  if (rankFault(sort, isSearch) === undefined) return
  const message =
    'The order by rank is "sort=-q", alone and with "q": the best first, and the newest of equals before the others.'
  throw parameterFault('sort', 'not_sortable', message)
}
