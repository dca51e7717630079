/** Limits the number of records of one kind that a user can have. */
import type { NewRecord, Records } from '../../base/records.ts'

/**
 * Stores the record unless its id is taken or its owner has `max` records of its kind. Counts again afterwards: of concurrent
 * calls, also on other nodes, the last to commit sees the records of all others. If several calls together exceed the limit,
 * all of them may be refused.
 */
export async function addBounded(
  records: Pick<Records, 'add' | 'byOwner' | 'delete'>,
  record: NewRecord & { readonly owner: string },
  max: number,
): Promise<'added' | 'taken' | 'full'> {
  const { kind, id, owner } = record
  const count = async () => (await records.byOwner(kind, owner)).length
  if ((await count()) >= max) return 'full'
  if (!(await records.add(record))) return 'taken'
  if ((await count()) <= max) return 'added'
  await records.delete(kind, id)
  return 'full'
}
