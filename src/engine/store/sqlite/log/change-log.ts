/** Reads the log of committed changes. `event-log.ts` writes it. */

import type { LogBounds, LoggedChange } from '../../../plan/change-feed.ts'
import type { Hold } from '../../log/holds.ts'
import { prunedSql } from '../../log/keys.ts'
import type { LogMetrics } from '../../log/log-metrics.ts'
import { afterSql, afterWithinSql, loggedChange } from '../../log/logged-change.ts'
import { sql } from '../../sql/writer.ts'
import type { CommitListener, EventLog, LogCounts } from '../../store.ts'
import { noInputs, slotInputs } from '../../values.ts'
import type { Connection } from '../connection.ts'
import type { Statement } from '../statement.ts'

interface ChangeLogParts {
  readonly hold: Hold
  readonly metrics: LogMetrics
}

export class ChangeLog implements EventLog {
  readonly hold: Hold
  readonly #metrics: LogMetrics
  readonly #connection: Connection
  readonly #bounds: Statement
  readonly #after: Statement
  readonly #afterWithin: Statement
  readonly #listeners = new Set<CommitListener>()

  constructor(connection: Connection, { hold, metrics }: ChangeLogParts) {
    this.#connection = connection
    this.hold = hold
    this.#metrics = metrics
    this.#bounds = connection.prepare(
      sql`SELECT ${prunedSql}, (SELECT "seq" FROM "sqlite_sequence" WHERE "name" = '_events')`,
    )
    this.#after = connection.prepare(afterSql)
    this.#afterWithin = connection.prepare(afterWithinSql)
  }

  last(): number {
    return this.bounds().drawn
  }

  after(event: number, limit: number, maxBytes?: number): readonly LoggedChange[] {
    this.#connection.hold()
    const rows =
      maxBytes === undefined
        ? this.#after.all(slotInputs([event, limit]))
        : this.#afterWithin.all(slotInputs([event, limit, maxBytes]))
    return rows.map(loggedChange)
  }

  bounds(): LogBounds {
    this.#connection.hold()
    const [pruned, drawn] = this.#bounds.get(noInputs) ?? []
    return { pruned: Number(pruned ?? 0), drawn: Number(drawn ?? 0) }
  }

  counts(): LogCounts {
    return this.#metrics.counts
  }

  onCommit(listener: CommitListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  poll(): void {
    this.#connection.renewSnapshot()
  }

  notify(from: 'here' | 'elsewhere'): void {
    for (const listener of this.#listeners) listener(from)
  }
}
