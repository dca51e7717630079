/** The order in which the writes of one group run. */

import { compareCodeUnits } from '../../../../base/unicode.ts'
import type { GuardedCreate, GuardedWrite } from '../../../plan/guarded.ts'
import { assignedValue } from '../../write/assign.ts'

/** The properties of a write that decide when it runs within its group. */
export interface WriteOrder {
  /** Writes with the same key run one after the other, in the order of keys; those without one, concurrently. */
  readonly key: string | undefined
  /** Whether it runs concurrently with writes that have the same key. The key then only decides the order. */
  readonly sharesKey?: boolean
  /** Whether it runs while no other write of the group runs. */
  readonly runsAlone: boolean
}

interface OrderedWrite {
  readonly job: WriteOrder
}

/** All groups lock rows in the same order, if it is known beforehand, so that deadlocks are rare. */
export function inLockOrder<W extends OrderedWrite>(group: readonly W[]): readonly W[] {
  const keyed = group.filter(({ job }) => job.key !== undefined && !job.runsAlone)
  const alone = group.filter(({ job }) => job.runsAlone)
  const others = group.filter(({ job }) => job.key === undefined && !job.runsAlone)
  const order = (left: W, right: W) => compareCodeUnits(left.job.key ?? '', right.job.key ?? '')
  return [...keyed.toSorted(order), ...others, ...alone.toSorted(order)]
}

/** Runs writes with the same key one after the other, and the writes that must run alone at the end. */
export async function runConcurrently<W extends OrderedWrite>(
  group: readonly W[],
  run: (write: W) => Promise<void>,
): Promise<void> {
  const last = new Map<string, Promise<void>>()
  const running: Promise<void>[] = []
  const alone: W[] = []
  for (const write of inLockOrder(group)) {
    const { key, runsAlone, sharesKey = false } = write.job
    if (runsAlone) alone.push(write)
    else if (key === undefined || sharesKey) running.push(run(write))
    else {
      const previous = last.get(key)
      const current = previous === undefined ? run(write) : previous.then(() => run(write))
      last.set(key, current)
      running.push(current)
    }
  }
  await Promise.all(running)
  for (const write of alone) await run(write)
}

/** The key of writes to one item: see `WriteOrder`. */
export function itemKey(collection: string, id: unknown): string {
  return `${collection}/${String(id).padStart(16, '0')}`
}

/** Whether the write counts rows, including rows of other writes of its transaction. */
export function isLimited(shape: GuardedWrite['shape']): boolean {
  return shape.kind !== 'delete' && shape.limits.length > 0
}

/**
 * Whether the write locks groups of limited items whose order among those of other writes is unknown: that of an update
 * depends on the stored row, and a create with limits for each value of two fields locks two. In a transaction of its own, it
 * locks its row and then its groups, in the order of the fields, so that no two such writes wait for each other.
 */
export function locksUnsortedGroups(shape: GuardedWrite['shape']): boolean {
  if (shape.kind !== 'create') return isLimited(shape)
  return new Set(shape.limits.flatMap(({ per }) => per ?? [])).size > 1
}

/**
 * The key of a create with a limit: that of the group in which its item counts, if its values determine the group. It follows
 * all keys of rows: a transaction locks rows first. Creates
 * run concurrently all the same: counts only increase meanwhile, and the last one to count sees all items, so if none is
 * refused, all of them fit. If one is refused, perhaps because of a later one, the group runs again, one write after the
 * other.
 */
export function limitKey({ collection, limits, set }: GuardedCreate, plan: GuardedWrite): string | undefined {
  const per = limits.find(limit => limit.per !== undefined)?.per
  const assignment = set.find(({ field }) => field === per)
  return (
    assignment && itemKey(`~${collection.name}.${assignment.field.name}`, assignedValue(assignment, plan, ''))
  )
}
