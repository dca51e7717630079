/** The order in which the writes of one group are done. */
import type { GuardedCreate, GuardedWrite } from '../../../plan/guarded.ts'
import { assigned } from '../../write/assign.ts'

/** A write as far as its order goes. */
export interface Ordered {
  /** Those with the same key are done one after the other, in the order of keys; those without one, side by side. */
  readonly key: string | undefined
  /** Whether it is done when nothing else of the group is under way. */
  readonly alone: boolean
}

interface OrderedWrite {
  readonly job: Ordered
}

/** Rows are locked in one order by all, as far as it is known beforehand, so that few wait for each other in rings. */
export function ordered<W extends OrderedWrite>(group: readonly W[]): readonly W[] {
  const keyed = group.filter(({ job }) => job.key !== undefined && !job.alone)
  const alone = group.filter(({ job }) => job.alone)
  const others = group.filter(({ job }) => job.key === undefined && !job.alone)
  const order = (one: W, other: W) => compare(one.job.key ?? '', other.job.key ?? '')
  return [...keyed.toSorted(order), ...others, ...alone.toSorted(order)]
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** Those that share a key one after the other, those that must be alone at last. */
export async function sideBySide<W extends OrderedWrite>(
  group: readonly W[],
  run: (waiting: W) => Promise<void>,
): Promise<void> {
  const last = new Map<string, Promise<void>>()
  const running: Promise<void>[] = []
  const alone: W[] = []
  for (const waiting of ordered(group)) {
    const { key, alone: isAlone } = waiting.job
    if (isAlone) alone.push(waiting)
    else if (key === undefined) running.push(run(waiting))
    else {
      const before = last.get(key)
      const mine = before === undefined ? run(waiting) : before.then(() => run(waiting))
      last.set(key, mine)
      running.push(mine)
    }
  }
  await Promise.all(running)
  for (const waiting of alone) await run(waiting)
}

/** Jobs with the same key are done one after the other, and lock rows in the order of keys. */
export function itemKey(collection: string, id: unknown): string {
  return `${collection}/${String(id).padStart(16, '0')}`
}

/** Whether it counts what others of its transaction have written. */
export function isLimited(shape: GuardedWrite['shape']): boolean {
  return shape.kind !== 'delete' && shape.limits.length > 0
}

/** The key of a create with a limit: of what it counts, as far as its values say. */
export function limitKey({ collection, limits, set }: GuardedCreate, plan: GuardedWrite): string | undefined {
  const per = limits.find(limit => limit.per !== undefined)?.per
  const assignment = set.find(({ field }) => field === per)
  return assignment && itemKey(`${collection.name}.${assignment.field.name}`, assigned(assignment, plan, ''))
}
