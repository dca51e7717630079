/** The cost of a list for rows that the database must scan because no index leads to the matches. */
import { manyRelations } from '../../model/computed/fields.ts'
import type { Collection, Model } from '../../model/model.ts'
import type { Filter, SelectedList } from '../../plan/plan.ts'
import { mayScan, startsAnIndex } from '../../plan/scans.ts'

/** Points for a list of a whole collection. */
export const collectionScanCost = 50
/** Points for a list of an item's relation: only the related rows are scanned. */
const innerScanCost = 5
/** How many items a filter is assumed to find behind a to-many relation. It follows the next relation for each of them. */
const assumedMatches = 50

type ListRows = Pick<SelectedList, 'filter' | 'sort' | 'search'>

interface ScannedList {
  readonly model: Model
  readonly target: Collection
  /** Whether the list is of an item's relation. */
  readonly inner: boolean
  /** Whether the total is selected too. */
  readonly counted: boolean
}

/** In points. */
export function scanCost(rows: ListRows, { model, target, inner, counted }: ScannedList): number {
  const lists = rows.filter ? listsWithin(rows.filter, target, model) : 0
  const times = lists > 1 ? assumedMatches ** (lists - 1) : Number(scans(rows, target, counted))
  return times * (inner ? innerScanCost : collectionScanCost)
}

/** How many to-many relations the filter follows, one within another. */
function listsWithin(filter: Filter, of: Collection, model: Model): number {
  switch (filter.kind) {
    case 'compare': {
      const field = of.computed.get(filter.field)
      return field === undefined ? 0 : Math.min(1, manyRelations(field.expression))
    }
    case 'not':
      return listsWithin(filter.filter, of, model)
    case 'related': {
      const relation = of.relations.get(filter.relation)
      const target = model.collections.get(relation?.target ?? '')
      const beyond = target ? listsWithin(filter.filter, target, model) : 0
      return beyond + (relation?.kind === 'one' ? 0 : 1)
    }
    default:
      return Math.max(0, ...filter.filters.map(one => listsWithin(one, of, model)))
  }
}

function scans({ filter, sort, search }: ListRows, target: Collection, counted: boolean): boolean {
  if (search !== undefined || (counted && filter)) return true
  if (filter) return mayScan(filter, target)
  const [first] = sort
  return first !== undefined && !startsAnIndex(target, first.field)
}
