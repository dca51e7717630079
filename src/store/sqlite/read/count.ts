/** Counts the items of lists that are not whole collections. */
import type { CountSql, WholeList } from '../../read/database.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { countSql } from '../../sql/read.ts'
import { sqlite } from '../../sql/sqlite.ts'
import type { Sql } from '../../sql/writer.ts'
import type { Connection, Statement } from '../connection.ts'
import type { InlineContext } from './inline-statement.ts'
import { parsePlan } from './query-plan.ts'
import { relatedForm } from './related-rows.ts'

type CountContext = InlineContext & {
  /** With `budgetCheck` where a statement may have to be ended. */
  readonly dialect: Dialect
}

/** An index alone gives up to this many entries within some 2 ms: to watch the time would take as long again. */
const unwatchedEntries = 100_000

/**
 * All rows are looked at, so that a set is always the better way where it is made from no more of them. What counts the
 * entries of one index is watched in large collections only.
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
    const isUnwatched = isCheap && totals.of(shape.collection.name) <= unwatchedEntries
    const key = `${form} ${isUnwatched}`
    const known = statements.get(key)
    if (known !== undefined) return known
    const made = connection.prepare(build(shape, isUnwatched ? sqlite : context.dialect, form))
    statements.set(key, made)
    return made
  }
}

/** Whether the statement reads the entries of one index, or of one full-text index, and nothing else. */
function readsIndexOnly(fragment: Sql, connection: Connection): boolean {
  const [step, ...others] = parsePlan(connection.explain(fragment).rows)
  return step?.kind === 'access' && (step.covering || step.access === 'virtual') && others.length === 0
}
