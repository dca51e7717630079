/** What a list costs beyond the items that it shows: the rows that are looked at where no index leads to them. */
import type { Collection, Model } from '../model/model.ts'
import type { Filter, SelectedList } from '../plan/plan.ts'

/** Of a list out of a whole collection. */
const SCAN_COST = 50
/** Of a list that belongs to an item: only what belongs to it is looked at. */
const INNER_SCAN_COST = 5
/** How many items a filter is taken to find behind a relation to many, for each of which it follows the next one. */
const FAN = 50

type Rows = Pick<SelectedList, 'filter' | 'sort' | 'search'>

/** What the list is one of, and what of it is asked for. */
interface Scanned {
  readonly model: Model
  readonly target: Collection
  /** The list belongs to an item. */
  readonly inner: boolean
  /** How many there are is told too. */
  readonly counted: boolean
}

/** In points. */
export function scanCost(rows: Rows, { model, target, inner, counted }: Scanned): number {
  const lists = rows.filter ? listsWithin(rows.filter, target, model) : 0
  const times = lists > 1 ? FAN ** (lists - 1) : Number(scans(rows, target, counted))
  return times * (inner ? INNER_SCAN_COST : SCAN_COST)
}

/** How many relations to many the filter follows, one within another. */
function listsWithin(filter: Filter, of: Collection, model: Model): number {
  switch (filter.kind) {
    case 'compare':
      return 0
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
  if (name === 'id' || name === 'created_at' || field?.unique || field?.reference) return true
  return indexes.some(({ keys: [first] }) => first?.field === name)
}
