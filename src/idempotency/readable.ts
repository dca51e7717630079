/** Whether a caller may read items, by its present rights. */
import { ApiError, type ErrorCode } from '../errors.ts'
import { then } from '../plan/answer.ts'
import type { ListShape } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import { listShape, where } from '../plan/system-plans.ts'
import type { Principal } from '../principal.ts'
import type { ItemName } from './transaction.ts'

/** Of the guard: the caller may read no item of the collection, or not its id. */
const refusals: ReadonlySet<ErrorCode> = new Set([
  'BAD_REQUEST',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'INSUFFICIENT_SCOPE',
  'NOT_FOUND',
])

const shapes = new Map<string, ListShape>()

/** One per collection, because each shape is compiled once. */
function shapeOf(collection: string): ListShape {
  const made = shapes.get(collection) ?? listShape(collection, ['id'], where('id', 'in'))
  shapes.set(collection, made)
  return made
}

async function readsAllOf(
  run: Run,
  principal: Principal,
  collection: string,
  ids: readonly number[],
): Promise<boolean> {
  try {
    const plan = { shape: shapeOf(collection), args: [0, ids.length, [...ids]] }
    return await then(run.list(plan, principal), ({ text }) => JSON.parse(text ?? '[]').length === ids.length)
  } catch (error) {
    if (error instanceof ApiError && refusals.has(error.code)) return false
    throw error
  }
}

/** Whether all of them exist and the caller may read them. */
export async function readsAll(run: Run, principal: Principal, items: readonly ItemName[]): Promise<boolean> {
  const ids = new Map<string, Set<number>>()
  for (const { collection, id } of items) ids.set(collection, (ids.get(collection) ?? new Set()).add(id))
  for (const [collection, each] of ids) {
    if (!(await readsAllOf(run, principal, collection, [...each]))) return false
  }
  return true
}
