/** What deletes ask for on every database. */
import type { GuardedDelete } from '../../plan/guarded.ts'
import { conditionSql } from '../sql/condition.ts'
import type { Row } from '../sql/row.ts'
import { objectSql } from '../sql/select.ts'
import { checksSql } from '../sql/write.ts'
import { type Sql, sql } from '../sql/writer.ts'

/** Visible; the representation; the checks. */
export function deleteOutputs({ before, ifMatch, rows, representation }: GuardedDelete, row: Row): Sql[] {
  const visible = sql`(${conditionSql(rows, row)})`
  const shown = ifMatch === undefined ? ['NULL'] : row.dialect.text(objectSql(representation, row))
  return [visible, shown, ...checksSql(before, row)]
}
