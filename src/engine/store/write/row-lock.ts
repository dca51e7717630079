/** Locks a row until the transaction ends. */
import type { Collection } from '../../../model/model.ts'
import { type Bind, name, sql } from '../sql/writer.ts'
import type { Inputs } from '../values.ts'
import type { RowLocks, WriteDatabase } from './database.ts'
import type { StepQuery } from './steps.ts'

/** Undefined if only one transaction writes at a time. */
export function rowLock<S>(
  collection: Collection,
  id: Bind,
  purpose: keyof RowLocks,
  { locks, prepare }: WriteDatabase<S>,
): ((inputs: Inputs) => StepQuery<S>) | undefined {
  if (locks === undefined) return undefined
  const statement = prepare(sql`SELECT 1 FROM ${name(collection.name)} WHERE "id" = ${id}${locks[purpose]}`)
  return inputs => ({ statement, inputs, purpose: 'service' })
}
