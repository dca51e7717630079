/** Which comparisons must not use an index. */
import { indexOrder, isIndexed } from '../../../model/indexes.ts'
import type { Collection, Field, Index } from '../../../model/model.ts'
import type { Condition, GuardedSort } from '../../plan/guarded-conditions.ts'

/** Whether the field has so few values that a comparison usually holds for many rows. */
function isFewValued({ type: { distinctValues } }: Field): boolean {
  return distinctValues !== undefined && Number.isFinite(distinctValues)
}

/**
 * The fields with few values for which no index returns the rows in the order of the list. A rule's comparison with such a
 * field usually holds for most rows: reading the list in its order and skipping some rows visits fewer rows than finding
 * and sorting all matches.
 */
export function excludedFromIndexes(
  rows: Condition,
  collection: Collection,
  sort: readonly GuardedSort[],
): ReadonlySet<string> {
  const fields = [...collection.fields.values()].filter(
    field => isFewValued(field) && isIndexed(collection, field.name),
  )
  const equalFields = equalIn(rows)
  const isServed = (name: string) =>
    collection.indexes.some(index => returnsInOrder(index, name, equalFields, sort))
  return new Set(fields.map(field => field.name).filter(name => !(equalFields.has(name) && isServed(name))))
}

/** The fields that have the same value in all rows that fulfil the condition. */
function equalIn(condition: Condition): ReadonlySet<string> {
  if (condition.kind === 'and') return new Set(condition.parts.flatMap(part => [...equalIn(part)]))
  const isEqual = condition.kind === 'compare' && condition.operator === 'eq'
  return new Set(isEqual ? [condition.field.field.name] : [])
}

/** Whether the index returns the rows with given values of these fields, including `name`, in the order of `sort`. */
function returnsInOrder(
  { keys }: Index,
  name: string,
  equal: ReadonlySet<string>,
  sort: readonly GuardedSort[],
): boolean {
  const order = indexOrder(keys)
  const begin = order.findIndex(key => !equal.has(key.field))
  const leadingKeys = order.slice(0, begin < 0 ? order.length : begin)
  if (!leadingKeys.some(key => key.field === name)) return false
  const rest = order.slice(leadingKeys.length)
  const flip = rest[0]?.descending !== sort[0]?.descending
  return sort.every(({ field, descending }, index) => {
    const keyInOrder = rest[index]
    return keyInOrder?.field === field.field.name && (keyInOrder.descending !== flip) === descending
  })
}
