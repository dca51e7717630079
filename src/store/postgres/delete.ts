/** Deletes: the row is locked, then looked at with what it allows, then removed with all that depends on it. */
import { ApiError } from '../../errors.ts'
import type { GuardedDelete } from '../../plan/guarded.ts'
import { postgres } from '../sql/postgres.ts'
import { Row } from '../sql/row.ts'
import { rowSql } from '../sql/write.ts'
import { arg, name, sql } from '../sql/writer.ts'
import { requireChecks, requireMatch } from '../write/checks.ts'
import { deleteOutputs } from '../write/delete.ts'
import type { Removal } from './removal.ts'
import { statementOf } from './statement.ts'
import type { WriteRun } from './writer.ts'

export function deleteRun(shape: GuardedDelete, removal: Removal): WriteRun {
  const { collection, before, ifMatch } = shape
  const id = arg(shape.id, 'number')
  const row = new Row(postgres, collection.name)
  const lock = statementOf(sql`SELECT 1 FROM ${name(collection.name)} WHERE "id" = ${id} FOR UPDATE`)
  const look = statementOf(rowSql(row, id, deleteOutputs(shape, row)))
  return async ({ args, principal }, scope) => {
    const inputs = { args, userId: principal.userId, slots: [] }
    const [, [stored]] = await Promise.all([scope.rows(lock, inputs), scope.rows(look, inputs)])
    if (stored === undefined || stored[0] !== 1) throw new ApiError('NOT_FOUND')
    requireChecks(before, stored, 2)
    if (ifMatch !== undefined) requireMatch(args[ifMatch], stored[1])
    const itemId = Number(args[shape.id])
    const { changed, removed } = await removal.remove(collection, itemId, scope)
    return { id: itemId, text: null, changed, removed }
  }
}
