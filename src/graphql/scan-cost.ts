/** What a list costs beyond the items that it shows: the rows that are looked at where no index leads to them. */
import type { Collection } from '../model/model.ts'
import type { Filter, SelectedList } from '../plan/plan.ts'

/** Of a list out of a whole collection. */
const SCAN_COST = 50
/** Of a list that belongs to an item: only what belongs to it is looked at. */
const INNER_SCAN_COST = 5

type Rows = Pick<SelectedList, 'filter' | 'sort' | 'search'>

/** In points. `inner`: the list belongs to an item. `counted`: how many there are is told too. */
export function scanCost(rows: Rows, target: Collection, inner: boolean, counted = false): number {
  return scans(rows, target, counted) ? (inner ? INNER_SCAN_COST : SCAN_COST) : 0
}

function scans({ filter, sort, search }: Rows, target: Collection, counted: boolean): boolean {
  if (search !== undefined || (counted && filter)) return true
  if (filter) return !leads(filter, target)
  const [first] = sort
  return first !== undefined && !isIndexed(target, first.field)
}

/** Whether the filter names, by an index, the rows that can fulfil it. */
function leads(filter: Filter, target: Collection): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.filters.some(one => leads(one, target))
    case 'or':
      return filter.filters.length > 0 && filter.filters.every(one => leads(one, target))
    case 'compare':
      return narrowing.has(filter.operator) && isIndexed(target, filter.field)
    default:
      return false
  }
}

const narrowing: ReadonlySet<string> = new Set(['eq', 'in', 'gt', 'gte', 'lt', 'lte'])

function isIndexed({ fields, indexes }: Collection, name: string): boolean {
  const field = fields.get(name)
  if (name === 'id' || field?.unique || field?.reference) return true
  return indexes.some(({ fields: [first] }) => first === name)
}
