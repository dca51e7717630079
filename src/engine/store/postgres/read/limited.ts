/**
 * Statements with literal limits, one for each combination in use. For a limit that is a parameter, PostgreSQL assumes a tenth
 * of the table: it would plan each execution separately, or for far too many rows.
 */
import type { Param } from '../../../plan/plan.ts'
import type { Dialect } from '../../sql/dialect.ts'
import type { Bind, Sql } from '../../sql/writer.ts'
import type { Inputs } from '../../values.ts'
import { type BoundStatement, type Statement, statementOf } from '../connections/statement.ts'

/** Above this number of statements, limits are parameters. */
const maxStatements = 100

/** `build` calls the dialect's `limit` for every limit. */
export function limited(
  dialect: Dialect,
  build: (dialect: Dialect) => Sql,
): (inputs: Inputs) => BoundStatement {
  const params = new Set<Param>()
  const bound = statementOf(
    build({
      ...dialect,
      limit(rows) {
        if (rows.from === 'arg') params.add(rows.param)
        return dialect.limit(rows)
      },
    }),
  )
  if (params.size === 0) return inputs => bound.with(inputs)
  const limits = [...params]
  const statements = new Map<string, Statement>()
  return inputs => {
    const { args } = inputs
    const key = limits.map(param => args[param]).join()
    const prepared = statements.get(key)
    if (prepared !== undefined) return prepared.with(inputs)
    const whole = limits.every(param => Number.isSafeInteger(args[param]) && Number(args[param]) >= 0)
    if (!whole || statements.size >= maxStatements) return bound.with(inputs)
    const limit = (rows: Bind) => (rows.from === 'arg' ? [String(args[rows.param])] : dialect.limit(rows))
    const statement = statementOf(build({ ...dialect, limit }))
    statements.set(key, statement)
    return statement.with(inputs)
  }
}
