/** Which items a deletion would delete, or be prevented by, found level by level with a bounded number of reads. */

import { system } from '../../base/principal.ts'
import type { Model } from '../../model/model.ts'
import { type ReferringField, referencesTo } from '../../model/references.ts'
import type { ItemShape, ListShape } from './plan.ts'
import type { Run } from './run.ts'
import { itemShape, listShape, readItem, where } from './system-plans.ts'

interface Item {
  readonly collection: string
  readonly id: number
}

interface BlockingItem extends Item {
  readonly field: string
}

/** How many items a search for one that an item depends on reads. */
const maxAncestors = 1000
/** How many ids one read compares. */
const sliceItems = 100
/** How many referring items one read finds. */
const maxReferring = 1000
/** How many of them are examined that may prevent the deletion: one after as many that are deleted themselves is not found. */
const maxExamined = 100

const keyOf = ({ collection, id }: Item) => `${collection} ${id}`

const cachedShapes = new WeakMap<Model, Map<string, ItemShape | ListShape>>()

/** Each shape is compiled once. */
function cached<S extends ItemShape | ListShape>(model: Model, key: string, create: () => S): S {
  const shapes = cachedShapes.get(model) ?? new Map<string, ItemShape | ListShape>()
  cachedShapes.set(model, shapes)
  const shape = (shapes.get(key) as S | undefined) ?? create()
  shapes.set(key, shape)
  return shape
}

/** Whether a deletion of the root deletes the item too. True as well if more than `maxAncestors` items would have to be read. */
export async function isDeletedWith(run: Run, model: Model, item: Item, root: Item): Promise<boolean> {
  const found = new Map([[keyOf(item), item]])
  for (const { collection, id } of found.values()) {
    if (collection === root.collection && id === root.id) return true
    if (found.size > maxAncestors) return true
    const fields = [...(model.collections.get(collection)?.fields.values() ?? [])]
    const cascading = fields.filter(({ reference }) => reference?.onDelete === 'cascade')
    if (cascading.length === 0) continue
    const names = cascading.map(({ name }) => name)
    const shape = cached(model, `item ${collection}`, () => itemShape(collection, names))
    const row = await readItem<Readonly<Record<string, number | null>>>(run, shape, id)
    for (const { name, reference } of cascading) {
      const target = row?.[name]
      if (reference === undefined || target === null || target === undefined) continue
      const next = { collection: reference.target, id: target }
      found.set(keyOf(next), next)
    }
  }
  return false
}

async function referringItems(
  run: Run,
  model: Model,
  { collection: { name: collection }, field: { name: field } }: ReferringField,
  ids: readonly number[],
): Promise<readonly BlockingItem[]> {
  const shape = cached(model, `list ${collection} ${field}`, () =>
    listShape(collection, ['id'], where(field, 'in')),
  )
  const { text } = await run.list({ shape, args: [0, maxReferring, ids] }, system)
  const items: readonly { readonly id: number }[] = JSON.parse(text ?? '[]')
  return items.map(({ id }) => ({ collection, id, field }))
}

/**
 * The relations of items that refer to the root, or to what is deleted with it, and prevent its deletion: one item of each. Only the
 * first `maxItems` items that would be deleted are examined.
 */
export async function blockingItems(
  run: Run,
  model: Model,
  root: Item,
  maxItems: number,
): Promise<readonly BlockingItem[]> {
  const seen = new Set([keyOf(root)])
  const blocking = new Map<string, BlockingItem>()
  let waiting: readonly Item[] = [root]
  for (let examined = 0; waiting.length > 0 && examined < maxItems; ) {
    const { collection } = waiting[0] ?? root
    const slice = waiting.filter(item => item.collection === collection).slice(0, sliceItems)
    const taken = new Set(slice)
    const ids = slice.map(({ id }) => id)
    const next: Item[] = []
    for (const reference of referencesTo({ name: collection }, model)) {
      const { onDelete } = reference
      const place = `${reference.collection.name}.${reference.field.name}`
      if (onDelete === 'clear' || (onDelete === 'restrict' && blocking.has(place))) continue
      const referring = await referringItems(run, model, reference, ids)
      if (onDelete === 'restrict') {
        for (const item of referring.slice(0, maxExamined))
          if (!blocking.has(place) && !(await isDeletedWith(run, model, item, root)))
            blocking.set(place, item)
        continue
      }
      const found = referring.filter(item => !seen.has(keyOf(item)))
      for (const item of found) seen.add(keyOf(item))
      next.push(...found)
    }
    examined += slice.length
    waiting = [...waiting.filter(item => !taken.has(item)), ...next]
  }
  return [...blocking.values()]
}
