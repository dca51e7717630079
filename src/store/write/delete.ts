/** Deletes: a look at the stored row and what it allows, then its removal with all that depends on it. */
import { ApiError } from '../../errors.ts'
import type { GuardedDelete } from '../../plan/guarded.ts'
import { conditionSql } from '../sql/condition.ts'
import { Row } from '../sql/row.ts'
import { objectSql } from '../sql/select.ts'
import { sqlite } from '../sql/sqlite.ts'
import { checksSql, rowSql } from '../sql/write.ts'
import { arg, type Sql, sql } from '../sql/writer.ts'
import { requireChecks, requireMatch } from './checks.ts'
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
    return { id, text: null, ...removal.remove(collection, id, now) }
  }
}

/** Visible; the representation; the checks. */
export function deleteOutputs({ before, ifMatch, rows, representation }: GuardedDelete, row: Row): Sql[] {
  const visible = sql`(${conditionSql(rows, row)})`
  const shown = ifMatch === undefined ? ['NULL'] : row.dialect.text(objectSql(representation, row))
  return [visible, shown, ...checksSql(before, row)]
}
