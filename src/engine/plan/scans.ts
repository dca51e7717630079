/** Whether a read may scan a whole collection: decides its cost, without knowledge of the data. */
import type { Collection } from '../../model/model.ts'
import type { Filter } from './plan.ts'

/** Whether no index finds the rows that can match. */
export function mayScan(filter: Filter | undefined, collection: Collection): boolean {
  return filter === undefined || !usesIndex(filter, collection)
}

/** Whether an index finds the rows that can match the filter. */
function usesIndex(filter: Filter, target: Collection): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.filters.some(part => usesIndex(part, target))
    case 'or':
      return filter.filters.length > 0 && filter.filters.every(part => usesIndex(part, target))
    case 'compare':
      return indexedOperators.has(filter.operator) && startsAnIndex(target, filter.field)
    default:
      return false
  }
}

const indexedOperators: ReadonlySet<string> = new Set(['eq', 'in', 'gt', 'gte', 'lt', 'lte', 'starts_with'])

/** Whether an index begins with the field. */
export function startsAnIndex({ fields, indexes }: Collection, name: string): boolean {
  const field = fields.get(name)
  if (name === 'id' || name === 'created_at' || field?.unique || field?.reference) return true
  return indexes.some(({ keys: [first] }) => first?.field === name)
}
