/** Pruning on PostgreSQL, where other nodes prune too: only the node that has locked the row of the pruned number prunes. */
import { lowestHoldSql, prunedKey } from '../../log/keys.ts'
import { LogMetrics } from '../../log/log-metrics.ts'
import {
  inspectLog,
  type Prunable,
  type PruneStatements,
  type PruningState,
  prune,
  pruneSql,
  type Retention,
} from '../../log/pruning.ts'
import { slot, sql, textLiteral } from '../../sql/writer.ts'
import { isCheck, type QuerySteps, refuseCheck } from '../../write/steps.ts'
import type { Connection } from '../connections/connection.ts'
import { type BoundStatement, type DataRows, type Statement, statementOf } from '../connections/statement.ts'
import { readLowestHeld } from './event-log.ts'

const key = textLiteral(prunedKey)
const [bySize, byAge] = [sql`${slot(0)}::bigint`, sql`${slot(1)}::bigint`]

/** Respects holds that were set after the inspection, too. */
const pruneEvents = statementOf(
  sql`WITH "turn" AS (SELECT 1 FROM "_portico" WHERE "key" = ${key} FOR UPDATE SKIP LOCKED), "until" AS (SELECT greatest(${bySize}, least(${byAge}, ${lowestHoldSql})) AS "id" WHERE EXISTS (SELECT 1 FROM "turn")), "raised" AS (UPDATE "_portico" SET "value" = greatest("value"::bigint, "until"."id")::text FROM "until" WHERE "key" = ${key}), "gone" AS (DELETE FROM "_events" AS "e" USING "until" WHERE "e"."id" <= "until"."id" RETURNING 1) SELECT 1 FROM "gone"`,
)

const statements: PruneStatements<Statement> = {
  state: statementOf(pruneSql.state),
  extent: statementOf(pruneSql.extent),
  sample: statementOf(pruneSql.sample),
  oldest: statementOf(pruneSql.oldest([slot(0)])),
  settled: readLowestHeld,
  prune: [pruneEvents],
}

/** Runs queries in order, each with a snapshot of its own. */
type RunStatements = (queries: readonly BoundStatement[]) => Promise<readonly DataRows[]>

async function runSteps<T>(steps: QuerySteps<Statement, T>, run: RunStatements): Promise<T> {
  let step = steps.next()
  while (!step.done) {
    const queries = isCheck(step.value) ? refuseCheck(step.value) : step.value.flatMap(query => query ?? [])
    step = steps.next(
      queries.length === 0 ? [] : await run(queries.map(query => query.statement.with(query.inputs))),
    )
  }
  return step.value
}

export class LogPruning {
  readonly metrics: LogMetrics = new LogMetrics()
  readonly #retention: Retention
  readonly #now: () => number

  constructor({ retention, now }: { readonly retention: Retention; readonly now: () => number }) {
    this.#retention = retention
    this.#now = now
  }

  /** The events to prune; undefined: none. */
  async inspect(run: RunStatements): Promise<Prunable | undefined> {
    const steps: QuerySteps<Statement, PruningState> = inspectLog(statements, this.#retention, this.#now())
    const { extent, prunable } = await runSteps(steps, run)
    this.metrics.update(extent)
    return prunable
  }

  /** Returns the number of deleted events. */
  async prune(connection: Connection, prunable: Prunable): Promise<number> {
    const count = await runSteps(prune(statements, prunable), queries => runOn(connection, queries))
    this.metrics.addPruned(count)
    return count
  }
}

export async function runOn(
  connection: Connection,
  queries: readonly BoundStatement[],
): Promise<readonly DataRows[]> {
  const { results, error } = await connection.run(queries)
  if (error !== undefined) throw error
  return results
}
