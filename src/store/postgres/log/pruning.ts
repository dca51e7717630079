/** Pruning on PostgreSQL, where other nodes prune too: the one that has locked the row of the pruned number does it. */
import { lowestHoldSql, prunedKey } from '../../log/keys.ts'
import { LogMetrics } from '../../log/log-metrics.ts'
import {
  type LookedAt,
  lookAtLog,
  type Prunable,
  type PruneStatements,
  prune,
  pruneSql,
  type Retention,
} from '../../log/pruning.ts'
import { quoted, slot, sql } from '../../sql/writer.ts'
import type { Steps } from '../../write/steps.ts'
import type { Connection } from '../connections/connection.ts'
import { type Query, type Rows, type Statement, statementOf } from '../connections/statement.ts'
import { held } from './event-log.ts'

const key = quoted(prunedKey)
const [bySize, byAge] = [sql`${slot(0)}::bigint`, sql`${slot(1)}::bigint`]

/** Respects holds that were set after the look, too. */
const pruneEvents = statementOf(
  sql`WITH "turn" AS (SELECT 1 FROM "_portico" WHERE "key" = ${key} FOR UPDATE SKIP LOCKED), "until" AS (SELECT greatest(${bySize}, least(${byAge}, ${lowestHoldSql})) AS "id" WHERE EXISTS (SELECT 1 FROM "turn")), "raised" AS (UPDATE "_portico" SET "value" = greatest("value"::bigint, "until"."id")::text FROM "until" WHERE "key" = ${key}), "gone" AS (DELETE FROM "_events" AS "e" USING "until" WHERE "e"."id" <= "until"."id" RETURNING 1) SELECT 1 FROM "gone"`,
)

const statements: PruneStatements<Statement> = {
  state: statementOf(pruneSql.state),
  extent: statementOf(pruneSql.extent),
  sample: statementOf(pruneSql.sample),
  oldest: statementOf(pruneSql.oldest([slot(0)])),
  settled: held,
  prune: [pruneEvents],
}

/** Runs queries in order, each with a snapshot of its own. */
type Run = (queries: readonly Query[]) => Promise<readonly Rows[]>

async function answered<T>(steps: Steps<Statement, T>, run: Run): Promise<T> {
  let step = steps.next()
  while (!step.done) {
    const asks = step.value.filter(ask => ask !== undefined)
    step = steps.next(asks.length === 0 ? [] : await run(asks.map(ask => ask.statement.with(ask.inputs))))
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

  /** What is to be pruned; undefined: nothing. */
  async look(run: Run): Promise<Prunable | undefined> {
    const looking: Steps<Statement, LookedAt> = lookAtLog(statements, this.#retention, this.#now())
    const { extent, prunable } = await answered(looking, run)
    this.metrics.looked(extent)
    return prunable
  }

  /** Returns the number of deleted events. */
  async prune(connection: Connection, prunable: Prunable): Promise<number> {
    const count = await answered(prune(statements, prunable), queries => runOn(connection, queries))
    this.metrics.pruned(count)
    return count
  }
}

export async function runOn(connection: Connection, queries: readonly Query[]): Promise<readonly Rows[]> {
  const { done, error } = await connection.run(queries)
  if (error !== undefined) throw error
  return done
}
