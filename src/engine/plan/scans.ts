/** Whether a read may scan a whole collection: decides its cost, without knowledge of the data. */
import { implies } from '../../base/predicate.ts'
import type { Collection } from '../../model/model.ts'
import type { Filter } from './plan.ts'

/** Whether no index finds the rows that can match. */
export function mayScan(filter: Filter | undefined, collection: Collection): boolean {
  if (filter === undefined) return true
  return !implies(
    filter,
    leaf =>
      leaf.kind === 'compare' && indexedOperators.has(leaf.operator) && startsAnIndex(collection, leaf.field),
  )
}

const indexedOperators: ReadonlySet<string> = new Set(['eq', 'in', 'gt', 'gte', 'lt', 'lte', 'starts_with'])

/** Whether an index begins with the field. */
export function startsAnIndex({ fields, indexes }: Collection, name: string): boolean {
  const field = fields.get(name)
  if (name === 'id' || name === 'created_at' || field?.unique || field?.reference) return true
  return indexes.some(({ keys: [first] }) => first?.field === name)
}
