/** Which items a caller may read with its present rights. */
import { ApiError, type ErrorCode } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import type { ListShape } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import { listShape, where } from '../plan/system-plans.ts'
import type { ShownItem } from './transaction.ts'

/** Refusals of the guard: the caller may read no item of the collection, or not its id. */
const refusals: ReadonlySet<ErrorCode> = new Set([
  'BAD_REQUEST',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'INSUFFICIENT_SCOPE',
  'NOT_FOUND',
])

const shapes = new Map<string, ListShape>()

/** There is one shape per collection, because each shape is compiled once. */
function shapeFor(collection: string): ListShape {
  const shape = shapes.get(collection) ?? listShape(collection, ['id'], where('id', 'in'))
  shapes.set(collection, shape)
  return shape
}

async function readableIds(
  run: Run,
  principal: Principal,
  collection: string,
  ids: readonly number[],
): Promise<ReadonlySet<number>> {
  try {
    const plan = { shape: shapeFor(collection), args: [0, ids.length, [...ids]] }
    const { text } = await run.list(plan, principal)
    const items: readonly { readonly id: number }[] = JSON.parse(text ?? '[]')
    return new Set(items.map(({ id }) => id))
  } catch (error) {
    if (error instanceof ApiError && refusals.has(error.code)) return new Set()
    throw error
  }
}

/** Returns the items that no longer exist, or that the caller may not read. */
export async function findUnreadable(
  run: Run,
  principal: Principal,
  items: readonly ShownItem[],
): Promise<readonly ShownItem[]> {
  const byCollection = Map.groupBy(items, ({ collection }) => collection)
  const unreadable: ShownItem[] = []
  for (const [collection, itemsOfCollection] of byCollection) {
    const ids = [...new Set(itemsOfCollection.map(({ id }) => id))]
    const readable = await readableIds(run, principal, collection, ids)
    unreadable.push(...itemsOfCollection.filter(({ id }) => !readable.has(id)))
  }
  return unreadable
}
