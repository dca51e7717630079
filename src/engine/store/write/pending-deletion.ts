/** Keeps an account disabled that is being deleted. */
import { ApiError } from '../../../base/errors.ts'
import { isPortico, type Principal } from '../../../base/principal.ts'
import { deletionRecord } from '../../../base/records.ts'
import type { GuardedUpdate } from '../../plan/guarded.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { slot, sql, textLiteral } from '../sql/writer.ts'
import { slotInputs } from '../values.ts'
import type { WriteDatabase } from './database.ts'
import type { QuerySteps } from './steps.ts'

/** To be called after the write, which has locked the row. Throws CONFLICT if it has enabled an account that is being deleted. */
type PendingDeletion<S> = (itemId: number, by: Principal) => QuerySteps<S, void>

/** Undefined for updates that enable no account. */
export function pendingDeletion<S>(
  { collection, set }: GuardedUpdate,
  { dialect, prepare }: WriteDatabase<S>,
): PendingDeletion<S> | undefined {
  if (collection.name !== 'users' || !set.some(({ field }) => field.name === 'disabled')) return undefined
  const row = new RowAlias(dialect, collection.name)
  const statement = prepare(
    sql`SELECT 1 FROM ${row.from()} WHERE ${row.column('id')} = ${slot(0)} AND NOT ${row.column('disabled')} AND EXISTS (SELECT 1 FROM "_records" WHERE "kind" = ${textLiteral(deletionRecord)} AND "id" = ${slot(1)})`,
  )
  return function* require(itemId, by) {
    // Portico's own work looks for the record itself.
    if (isPortico(by) && by.userId === null) return
    const [rows] = yield [{ statement, inputs: slotInputs([itemId, String(itemId)]) }]
    if (rows !== undefined && rows.length > 0)
      throw new ApiError('CONFLICT', 'This account is being deleted.')
  }
}
