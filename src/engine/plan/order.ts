/** The order of a list. */

export interface Sort {
  /** A field’s name, or `rankKey` (`rank.ts`) for a search sorted by rank. */
  readonly field: string
  readonly descending: boolean
}

declare const total: unique symbol

/** Sort keys of which the last is `id`, so that no two items share a position. Only `totalOrder` makes one. */
export type TotalOrder = readonly Sort[] & { readonly [total]: true }

/**
 * The order that a list has: the keys that the caller gave, up to and including `id`. Where `id` is not among them, it
 * is appended in the direction of the last key, so that an index on that key serves the order.
 */
export function totalOrder(sort: readonly Sort[]): TotalOrder {
  const id = sort.findIndex(key => key.field === 'id')
  const keys =
    id >= 0 ? sort.slice(0, id + 1) : [...sort, { field: 'id', descending: sort.at(-1)?.descending ?? false }]
  return keys as readonly Sort[] as TotalOrder
}

/** The default order of a list. */
export const orderById: TotalOrder = totalOrder([])

/** The exact reverse: null is the smallest value in both orders. */
export function reversed(order: TotalOrder): TotalOrder {
  return totalOrder(order.map(({ field, descending }) => ({ field, descending: !descending })))
}

/** Whether `id` is among the keys, and is the last one. */
export function isTotal(sort: readonly Sort[]): boolean {
  return sort.findIndex(key => key.field === 'id') === sort.length - 1 && sort.length > 0
}
