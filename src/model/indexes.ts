/**
 * The indexes of a collection: declared ones, those of unique fields, relations and `noOverlap`, and those for lists sorted
 * newest first.
 * See decisions/indexes.md.
 */
import type { Collection, Field, Index, IndexKey } from './model.ts'

/** Without duplicates. `isJoin`: whether the collection is the join collection of a many-to-many relation. */
export function indexedKeys(collection: Collection, isJoin: boolean): readonly Index[] {
  const fields = [...collection.fields.values()].filter(field => field.name !== 'id')
  const indexes: Index[] = fields
    .filter(field => field.unique)
    .map(field => ({ keys: ascending(field.name), unique: true }))
  for (const index of collection.indexes) if (!hasEqualOrder(index.keys, indexes)) indexes.push(index)
  for (const keys of overlapKeys(collection))
    if (!hasEqualOrder(keys, indexes)) indexes.push({ keys, unique: false })
  for (const keys of referenceKeys(fields))
    if (!hasEqualOrder(keys, indexes)) indexes.push({ keys, unique: false })
  for (const keys of newestFirstKeys(fields, isJoin))
    if (!isServed(keys, indexes)) indexes.push({ keys, unique: false })
  return indexes
}

/** Whether a field is part of any index of its collection. */
export function isIndexed({ fields, indexes }: Collection, name: string): boolean {
  const field = fields.get(name)
  if (name === 'id' || name === 'created_at' || field?.unique || field?.reference) return true
  return indexes.some(({ keys }) => keys.some(key => key.field === name))
}

function ascending(...names: readonly string[]): readonly IndexKey[] {
  return names.map(field => ({ field, descending: false }))
}

/** For lists along a relation by id, and for deletions, which look up referencing rows. */
function referenceKeys(fields: readonly Field[]): readonly (readonly IndexKey[])[] {
  return fields.filter(field => field.reference).map(field => ascending(field.name))
}

/** For the neighbours of an interval. */
function overlapKeys({ limits }: Collection): readonly (readonly IndexKey[])[] {
  return limits.flatMap(limit =>
    limit.kind === 'overlap'
      ? [ascending(...[limit.per ?? [], limit.start].flat().map(({ name }) => name))]
      : [],
  )
}

/**
 * Relations of a join collection get no such index: lists show the joined items, sorted by their own fields, rather than
 * its rows. Nor do unique relations, which have at most one row per item.
 */
function newestFirstKeys(fields: readonly Field[], isJoin: boolean): readonly (readonly IndexKey[])[] {
  const relations = isJoin ? [] : fields.filter(field => field.reference && !field.unique)
  return [ascending('created_at'), ...relations.map(field => ascending(field.name, 'created_at'))]
}

/** Equal for indexes that hold the rows in the same order, or in its exact reverse. */
export function orderText(keys: readonly IndexKey[]): string {
  return indexOrder(keys).map(keyText).join()
}

function hasEqualOrder(keys: readonly IndexKey[], indexes: readonly Index[]): boolean {
  return indexes.some(index => orderText(index.keys) === orderText(keys))
}

/**
 * Whether an index begins with these fields. The direction of the last field does not matter: the others are equal to
 * one value, and an index can be read both ways.
 */
function isServed(keys: readonly IndexKey[], indexes: readonly Index[]): boolean {
  return indexes.some(index => keys.every(({ field }, position) => index.keys[position]?.field === field))
}

/**
 * The order in which a non-unique index holds the rows. It ends with `id` in the direction of the last key, as every
 * list does (see `engine/plan/cursor.ts`). Of an order and its exact reverse, the one whose first key ascends: an index can be
 * read both ways.
 */
export function indexOrder(keys: readonly IndexKey[]): readonly IndexKey[] {
  const last = keys.at(-1)
  const order =
    last === undefined || last.field === 'id' ? keys : [...keys, { field: 'id', descending: last.descending }]
  return order[0]?.descending ? reversed(order) : order
}

function reversed(order: readonly IndexKey[]): readonly IndexKey[] {
  return order.map(({ field, descending }) => ({ field, descending: !descending }))
}

/** A key as `?sort=` writes it. */
export function keyText({ field, descending }: IndexKey): string {
  return descending ? `-${field}` : field
}
