/** The cost of a list for rows that the database must scan because no index leads to the matches. */

import { leavesOf } from '../../../base/predicate.ts'
import type { Filter, SelectedList } from '../../../engine/plan/plan.ts'
import { mayScan, startsAnIndex } from '../../../engine/plan/scans.ts'
import { scannedLists } from '../../../model/computed/fields.ts'
import type { Collection, Model } from '../../../model/model.ts'

/** Points for a list of a whole collection. */
export const collectionScanCost = 50
/** Points for a list of an item's relation: only the related rows are scanned. */
const innerScanCost = 5
/** How many items a filter is assumed to match behind a to-many relation. The next relation is followed for each of them. */
const assumedMatches = 50

type ListRows = Pick<SelectedList, 'filter' | 'sort' | 'search'>

interface ScannedList {
  readonly model: Model
  readonly target: Collection
  /** Whether the list is of an item's relation. */
  readonly isOfRelation: boolean
  /** Whether the total is selected too. */
  readonly countsTotal: boolean
}

/** In points. */
export function scanCost(rows: ListRows, { model, target, isOfRelation, countsTotal }: ScannedList): number {
  const lists = rows.filter ? listsWithin(rows.filter, target, model) : 0
  const times = lists > 1 ? assumedMatches ** (lists - 1) : Number(mustScan(rows, target, countsTotal))
  return times * (isOfRelation ? innerScanCost : collectionScanCost)
}

/** How many to-many relations the filter follows, one within another. */
function listsWithin(filter: Filter, collection: Collection, model: Model): number {
  const lists = leavesOf(filter).map(leaf => {
    if (leaf.kind === 'compare') {
      const field = collection.computed.get(leaf.field)
      return field === undefined ? 0 : Math.min(1, scannedLists(field.expression).length)
    }
    const relation = collection.relations.get(leaf.relation)
    const target = model.collections.get(relation?.target ?? '')
    const nested = target ? listsWithin(leaf.filter, target, model) : 0
    return nested + (relation?.kind === 'one' ? 0 : 1)
  })
  return Math.max(0, ...lists)
}

function mustScan({ filter, sort, search }: ListRows, target: Collection, countsTotal: boolean): boolean {
  if (search !== undefined || (countsTotal && filter)) return true
  if (filter) return mayScan(filter, target)
  const [first] = sort
  return first !== undefined && !startsAnIndex(target, first.field)
}
