/** The order in which the writes of one group run. */
import type { GuardedCreate, GuardedWrite } from '../../../plan/guarded.ts'
import { assigned } from '../../write/assign.ts'

/** The properties of a write that decide when it runs within its group. */
export interface Ordered {
  /** Writes with the same key run one after the other, in the order of keys; those without one, concurrently. */
  readonly key: string | undefined
  /** Whether it runs concurrently with writes that have the same key. Then the key only decides the order. */
  readonly sharesKey?: boolean
  /** Whether it runs while no other write of the group runs. */
  readonly alone: boolean
}

interface OrderedWrite {
  readonly job: Ordered
}

/** All groups lock rows in the same order, as far as it is known beforehand, so that deadlocks are rare. */
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

/** Runs writes with the same key one after the other, and those that must run alone at the end. */
export async function runConcurrently<W extends OrderedWrite>(
  group: readonly W[],
  run: (waiting: W) => Promise<void>,
): Promise<void> {
  const last = new Map<string, Promise<void>>()
  const running: Promise<void>[] = []
  const alone: W[] = []
  for (const waiting of ordered(group)) {
    const { key, alone: isAlone, sharesKey = false } = waiting.job
    if (isAlone) alone.push(waiting)
    else if (key === undefined || sharesKey) running.push(run(waiting))
    else {
      const before = last.get(key)
      const ended = before === undefined ? run(waiting) : before.then(() => run(waiting))
      last.set(key, ended)
      running.push(ended)
    }
  }
  await Promise.all(running)
  for (const waiting of alone) await run(waiting)
}

/** The key of writes to one item: see `Ordered`. */
export function itemKey(collection: string, id: unknown): string {
  return `${collection}/${String(id).padStart(16, '0')}`
}

/** Whether the write counts rows, also those of other writes of its transaction. */
export function isLimited(shape: GuardedWrite['shape']): boolean {
  return shape.kind !== 'delete' && shape.limits.length > 0
}

/**
 * The key of a create with a limit: that of the group in which its item counts, if its values determine the group. Creates
 * run concurrently all the same: counts only increase meanwhile, and the last one to count sees all items, so if none is
 * refused, all of them fit. If one is refused, perhaps because of a later one, the group runs again, one write after the
 * other.
 */
export function limitKey({ collection, limits, set }: GuardedCreate, plan: GuardedWrite): string | undefined {
  const per = limits.find(limit => limit.per !== undefined)?.per
  const assignment = set.find(({ field }) => field === per)
  return assignment && itemKey(`${collection.name}.${assignment.field.name}`, assigned(assignment, plan, ''))
}
