/** Writes the event log in the transaction of each change, and prunes it there. */
import { Pause } from '../../../../base/pause.ts'
import { actorOf } from '../../../../base/principal.ts'
import { prunedKey } from '../../log/keys.ts'
import { LogMetrics } from '../../log/log-metrics.ts'
import { inspectLog, type PruneStatements, prune, pruneSql, type Retention } from '../../log/pruning.ts'
import { slot, sql, textLiteral } from '../../sql/writer.ts'
import { slotInputs } from '../../values.ts'
import type { ItemChange } from '../../write/event.ts'
import type { Connection } from '../connection.ts'
import type { Statement } from '../statement.ts'
import { runSteps } from '../write/database.ts'

/** The maximum pause after a check that found nothing to prune, in milliseconds. */
const maxPauseMs = 10_000

export class EventLog {
  readonly metrics: LogMetrics = new LogMetrics()
  readonly #connection: Connection
  readonly #insert: Statement
  readonly #statements: PruneStatements<Statement>
  readonly #retention: Retention
  /** The pause after a check that found nothing to prune, in milliseconds. */
  readonly #pauseMs: number
  readonly #pause = new Pause()

  constructor(connection: Connection, retention: Retention) {
    this.#connection = connection
    this.#retention = retention
    this.#pauseMs = Math.min(maxPauseMs, retention.idleMs)
    this.#statements = statementsOf(connection)
    this.#insert = connection.prepare(
      sql`INSERT INTO "_events" ("at", "collection", "item_id", "kind", "data", "changed", "before", "user_id", "app_id", "type", "depth", "facts", "facts_before", "via") VALUES (${slot(0)}, ${slot(1)}, ${slot(2)}, ${slot(3)}, ${slot(4)}, ${slot(5)}, ${slot(6)}, ${slot(7)}, ${slot(8)}, ${slot(9)}, ${slot(10)}, ${slot(11)}, ${slot(12)}, ${slot(13)})`,
    )
  }

  /** `at`: ISO 8601 UTC. */
  add(at: string, change: ItemChange): void {
    const { collection, itemId, kind, data, changed, before, by, type, facts, factsBefore } = change
    const names = changed === undefined ? null : JSON.stringify(changed)
    const { userId, appId, via = null } = actorOf(by)
    this.#insert.run(
      slotInputs([
        ...[at, collection, itemId, kind, data, names, before],
        ...[userId, appId, type ?? null, by.depth ?? null, facts, factsBefore, via],
      ]),
    )
  }

  /** Within a transaction: prunes some events if the pause is over. `now`: in milliseconds. */
  prune(now: number): void {
    if (!this.#pause.isOver(now)) return
    const { extent, prunable } = runSteps(inspectLog(this.#statements, this.#retention, now))
    this.metrics.update(extent)
    if (prunable !== undefined) this.metrics.addPruned(runSteps(prune(this.#statements, prunable)))
    if (prunable === undefined) this.#pause.begin(now, this.#pauseMs)
  }

  /** Whether the next write would prune events. */
  isPrunable(now: number): boolean {
    if (!this.#pause.isOver(now)) return false
    this.#connection.hold()
    const { extent, prunable } = runSteps(inspectLog(this.#statements, this.#retention, now))
    this.metrics.update(extent)
    if (prunable === undefined) this.#pause.begin(now, this.#pauseMs)
    return prunable !== undefined
  }
}

function statementsOf(connection: Connection): PruneStatements<Statement> {
  const until = sql`CAST(max(${slot(0)}, ${slot(1)}) AS INTEGER)`
  const pruned = textLiteral(prunedKey)
  return {
    state: connection.prepare(pruneSql.state),
    extent: connection.prepare(pruneSql.extent),
    sample: connection.prepare(pruneSql.sample),
    oldest: connection.prepare(pruneSql.oldest(sql`${slot(0)} + 0`)),
    // No other transaction commits meanwhile.
    settled: undefined,
    prune: [
      connection.prepare(sql`DELETE FROM "_events" WHERE "id" <= ${until} RETURNING 1`),
      connection.prepare(
        sql`INSERT INTO "_portico" ("key", "value") VALUES (${pruned}, CAST(${until} AS TEXT)) ON CONFLICT ("key") DO UPDATE SET "value" = CAST(max(CAST("value" AS INTEGER), ${until}) AS TEXT)`,
      ),
    ],
  }
}
