/** Statements that count the items of a list that is not a whole collection. */
import type { CountSql, WholeList } from '../../read/database.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { countSql } from '../../sql/read.ts'
import { sqlite } from '../../sql/sqlite.ts'
import type { Sql } from '../../sql/writer.ts'
import type { Connection } from '../connection.ts'
import type { Statement } from '../statement.ts'
import type { InlineContext } from './inline-statement.ts'
import { parsePlan } from './query-plan.ts'
import { relatedForm } from './related-rows.ts'

type CountContext = InlineContext & {
  /** With `budgetCheck` if the time of statements is limited. */
  readonly dialect: Dialect
}

/** Counting this many entries of one index takes about 2 ms; checking the time would double that. */
const unlimitedEntries = 100_000

/**
 * A count visits all rows, so a set of ids is always better if building it visits no more rows. A count of the entries of
 * one index is limited in time only if the collection is large.
 */
export function countStatement<L extends WholeList>(
  shape: L,
  build: CountSql<L>,
  context: CountContext,
): () => Statement {
  const { connection, totals } = context
  // Groups and sums take longer than a count.
  const isCount = (build as unknown) === countSql
  const isCheap = isCount && context.dialect !== sqlite && readsIndexOnly(build(shape, sqlite), connection)
  const statements = new Map<string, Statement>()
  return () => {
    const form = relatedForm(shape, context)
    const isUnlimited = isCheap && totals.of(shape.collection.name) <= unlimitedEntries
    const key = `${form} ${isUnlimited}`
    const existing = statements.get(key)
    if (existing !== undefined) return existing
    const statement = connection.prepare(build(shape, isUnlimited ? sqlite : context.dialect, form))
    statements.set(key, statement)
    return statement
  }
}

/** Whether the statement reads only the entries of one index or full-text index. */
function readsIndexOnly(fragment: Sql, connection: Connection): boolean {
  const [step, ...others] = parsePlan(connection.explain(fragment).rows)
  return step?.kind === 'access' && (step.covering || step.access === 'virtual') && others.length === 0
}
