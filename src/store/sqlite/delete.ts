/** Deletes: a look at the stored row and what it allows, then its removal with all that depends on it. */
import { ApiError } from '../../errors.ts'
import type { GuardedDelete } from '../../plan/guarded.ts'
import { Row } from '../sql/row.ts'
import { sqlite } from '../sql/sqlite.ts'
import { rowSql } from '../sql/write.ts'
import { arg } from '../sql/writer.ts'
import { requireChecks, requireMatch } from '../write/checks.ts'
import { deleteOutputs } from '../write/delete.ts'
import type { WriteContext, WriteRun } from './context.ts'
import type { Removal } from './removal.ts'

export function deleteRun(shape: GuardedDelete, context: WriteContext, removal: Removal): WriteRun {
  const { collection, before, ifMatch } = shape
  const row = new Row(sqlite, collection.name)
  const look = context.connection.prepare(rowSql(row, arg(shape.id, 'number'), deleteOutputs(shape, row)))
  return (plan, now) => {
    const { args, principal } = plan
    const stored = look.get({ args, userId: principal.userId, slots: [] })
    if (stored === undefined || stored[0] !== 1) throw new ApiError('NOT_FOUND')
    requireChecks(before, stored, 2)
    if (ifMatch !== undefined) requireMatch(args[ifMatch], stored[1])
    const id = Number(args[shape.id])
    const { changed, removed } = removal.remove(collection, id, now)
    return { id, text: null, changed, removed }
  }
}
