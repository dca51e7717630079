/** Deletes: the row is locked, then looked at with what it allows, then removed with all that depends on it. */
import { ApiError } from '../../errors.ts'
import type { GuardedDelete } from '../../plan/guarded.ts'
import { Row } from '../sql/row.ts'
import { rowSql } from '../sql/write.ts'
import { arg, name, sql } from '../sql/writer.ts'
import { requireChecks, requireMatch } from '../write/checks.ts'
import { deleteOutputs } from '../write/delete.ts'
import type { WriteRun } from './context.ts'
import type { Removal } from './removal.ts'
import type { Security } from './security.ts'
import { statementOf } from './statement.ts'

export function deleteRun(shape: GuardedDelete, removal: Removal, security: Security): WriteRun {
  const { collection, before, ifMatch } = shape
  const id = arg(shape.id, 'number')
  const row = new Row(security.dialect, collection.name)
  const lock = statementOf(sql`SELECT 1 FROM ${name(collection.name)} WHERE "id" = ${id} FOR UPDATE`)
  const look = statementOf(rowSql(row, id, deleteOutputs(shape, row)))
  return async ({ args, principal }, scope) => {
    const inputs = { args, userId: principal.userId, slots: [], actor: security.actor(principal) }
    const itemId = Number(args[shape.id])
    const [, [stored], allowed] = await Promise.all([
      scope.rows(lock, security.itself(inputs)),
      scope.rows(look, inputs),
      removal.allows(collection, itemId, inputs, scope),
    ])
    if (stored === undefined || stored[0] !== 1) throw new ApiError('NOT_FOUND')
    requireChecks(before, stored, 2)
    if (ifMatch !== undefined) requireMatch(args[ifMatch], stored[1])
    if (!allowed) throw new ApiError('FORBIDDEN')
    const { changed, removed } = await removal.remove(collection, itemId, inputs.actor, scope)
    return { id: itemId, text: null, changed, removed }
  }
}
