/** The last enabled administrator stays one: nobody could give the role back, or enable an account, but the operator. */
import { ApiError } from '../../errors.ts'
import type { Collection } from '../../model/model.ts'
import { Row } from '../sql/row.ts'
import { quoted, type Sql, sql } from '../sql/writer.ts'
import { noInputs } from '../values.ts'
import type { WriteDatabase } from './database.ts'
import type { Steps } from './steps.ts'

const refusal =
  'This would leave the service without an enabled administrator. Give another enabled account the role `admin` first.'

export interface LastAdministrator<S> {
  /** Over the stored row, before the write: 1 for an enabled administrator. */
  readonly was: (row: Row) => Sql
  /** To be asked after the write. Throws CONFLICT where the row `was` one, and none is left. */
  require(was: unknown): Steps<S, void>
}

function isOne(row: Row): Sql {
  return sql`${row.column('role')} = ${quoted('admin')} AND NOT ${row.column('disabled')}`
}

/**
 * The lock is held until the commit: of two administrators who disable each other at once, the second finds none left.
 * Undefined for writes that change no administrators. `sets`: the fields that an update sets; left out for a deletion.
 */
export function lastAdministrator<S>(
  collection: Collection,
  { dialect, prepare, locksGroup }: WriteDatabase<S>,
  sets?: readonly string[],
): LastAdministrator<S> | undefined {
  if (collection.name !== 'users' || !collection.fields.has('disabled')) return undefined
  if (sets !== undefined && !sets.includes('role') && !sets.includes('disabled')) return undefined
  const lock = prepare(sql`SELECT ${locksGroup?.(quoted('users administrators'), undefined) ?? sql`1`}`)
  const row = new Row(dialect, collection.name)
  const left = prepare(sql`SELECT 1 FROM ${row.from()} WHERE ${isOne(row)} LIMIT 1`)
  return {
    was: stored => sql`CASE WHEN ${isOne(stored)} THEN 1 END`,
    *require(was) {
      if (was !== 1) return
      const [, found] = yield [
        { statement: lock, inputs: noInputs },
        { statement: left, inputs: noInputs },
      ]
      if (found?.length === 0) throw new ApiError('CONFLICT', refusal)
    },
  }
}
