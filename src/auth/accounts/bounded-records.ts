/** A limit of the records of one kind that belong to one user. */
import type { NewRecord, Records } from '../../records.ts'

/**
 * Stores the record unless its id is taken, or its owner has `max` of its kind. Counts again afterwards: of concurrent calls,
 * also on other nodes, the last to commit sees all others. Those that would exceed the limit may all be refused.
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
