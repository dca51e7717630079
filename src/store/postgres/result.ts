/** A look at what a row has become. */
import type { Row } from '../sql/row.ts'
import { rowSql } from '../sql/write.ts'
import { type Bind, type Sql, sql } from '../sql/writer.ts'
import type { Inputs, SqlValue } from '../values.ts'
import type { Security } from './security.ts'
import { statementOf } from './statement.ts'
import { first, type Scope } from './transaction.ts'

type Look = (inputs: Inputs, scope: Scope) => Promise<readonly SqlValue[]>

/**
 * `shown`: which of the outputs the caller is given. Where rows are locked, that one is asked on the caller's behalf,
 * and is null where the row may not be read; the others, which are for the log, are not.
 */
export function resultOf(
  outputs: readonly Sql[],
  shown: number,
  id: Bind,
  row: Row,
  { isOn, itself }: Security,
): Look {
  const whole = statementOf(rowSql(row, id, isOn ? outputs.with(shown, sql`NULL`) : outputs))
  if (!isOn) return async (inputs, scope) => first(await scope.rows(whole, inputs))
  const seen = statementOf(rowSql(row, id, outputs.slice(shown, shown + 1)))
  return async (inputs, scope) => {
    const asked = [scope.rows(whole, itself(inputs)), scope.rows(seen, inputs)] as const
    const [others, [text]] = await Promise.all(asked)
    return first(others).with(shown, text?.[0] ?? null)
  }
}
