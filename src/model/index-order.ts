/** The order in which a non-unique index holds the rows. */
import type { IndexKey } from './model.ts'

/**
 * Every list is sorted by `id` last, in the direction of its last key (see `plan/cursor.ts`), so an index ends the same
 * way. An index is read in both directions: of an order and its exact reverse, this is the one whose first key ascends.
 */
export function indexOrder(keys: readonly IndexKey[]): readonly IndexKey[] {
  const last = keys.at(-1)
  const order =
    last === undefined || last.field === 'id' ? keys : [...keys, { field: 'id', descending: last.descending }]
  return order[0]?.descending ? reversed(order) : order
}

export function reversed(order: readonly IndexKey[]): readonly IndexKey[] {
  return order.map(({ field, descending }) => ({ field, descending: !descending }))
}

/** A key as `?sort=` names it. */
export function keyText({ field, descending }: IndexKey): string {
  return descending ? `-${field}` : field
}
