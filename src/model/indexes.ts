/**
 * Which indexes a collection has: those that the model declares, those of its unique fields and relations, and those
 * that let it be listed newest first. See decisions/default-indexes.md.
 */
import { indexOrder, keyText } from './index-order.ts'
import type { Collection, Field, Index, IndexKey } from './model.ts'

/** Each once. `isJoin`: whether a many-to-many relation goes through the collection. */
export function indexedKeys(collection: Collection, isJoin: boolean): readonly Index[] {
  const fields = [...collection.fields.values()].filter(field => field.name !== 'id')
  const indexes: Index[] = fields
    .filter(field => field.unique)
    .map(field => ({ keys: ascending(field.name), unique: true }))
  for (const index of collection.indexes) if (!isAmong(index.keys, indexes)) indexes.push(index)
  for (const keys of ofReferences(fields)) if (!isAmong(keys, indexes)) indexes.push({ keys, unique: false })
  for (const keys of newestFirst(fields, isJoin))
    if (!isServed(keys, indexes)) indexes.push({ keys, unique: false })
  return indexes
}

/** Whether a field is in an index of its collection, at whichever place. */
export function isIndexed({ fields, indexes }: Collection, name: string): boolean {
  const field = fields.get(name)
  if (name === 'id' || name === 'created_at' || field?.unique || field?.reference) return true
  return indexes.some(({ keys }) => keys.some(key => key.field === name))
}

function ascending(...names: readonly string[]): readonly IndexKey[] {
  return names.map(field => ({ field, descending: false }))
}

/** The items of a relation in the order of their ids, and what a deletion looks for. */
function ofReferences(fields: readonly Field[]): readonly (readonly IndexKey[])[] {
  return fields.filter(field => field.reference).map(field => ascending(field.name))
}

/**
 * The rows of a join collection are seldom listed by one of their two items: the items that it joins are, which are
 * sorted by fields of their own. One item has one row at most of a unique relation.
 */
function newestFirst(fields: readonly Field[], isJoin: boolean): readonly (readonly IndexKey[])[] {
  const relations = isJoin ? [] : fields.filter(field => field.reference && !field.unique)
  return [ascending('created_at'), ...relations.map(field => ascending(field.name, 'created_at'))]
}

function orderText(keys: readonly IndexKey[]): string {
  return indexOrder(keys).map(keyText).join()
}

function isAmong(keys: readonly IndexKey[], indexes: readonly Index[]): boolean {
  return indexes.some(index => orderText(index.keys) === orderText(keys))
}

/**
 * Whether an index begins with these fields. The direction of the last one does not matter: the others are compared
 * with one value, and it is read both ways.
 */
function isServed(keys: readonly IndexKey[], indexes: readonly Index[]): boolean {
  return indexes.some(index => keys.every(({ field }, at) => index.keys[at]?.field === field))
}
