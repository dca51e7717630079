/** Reads the log of committed changes: in order and without gaps, despite concurrent commits (see `event-log.ts`). */

import type { LogBounds, LoggedChange } from '../../../plan/change-feed.ts'
import type { Hold } from '../../log/holds.ts'
import type { LogMetrics } from '../../log/log-metrics.ts'
import { loggedChange } from '../../log/logged-change.ts'
import type { CommitListener, EventLog, LogCounts } from '../../store.ts'
import { noInputs, slotInputs } from '../../values.ts'
import type { Pool } from '../connections/pool.ts'
import type { DataRows } from '../connections/statement.ts'
import type { Checks } from '../versions/checks.ts'
import { eventsAfter, eventsWithin, newest, pruned, readLastDrawn, readLowestHeld } from './event-log.ts'

/** The pause before changes that unfinished commits hold back are read again, in milliseconds. */
const retryMs = 5

interface ChangeLogParts {
  /** Each of its statements sees all earlier commits. */
  readonly pool: Pool
  readonly checks: Checks
  readonly hold: Hold
  readonly metrics: LogMetrics
}

export class ChangeLog implements EventLog {
  readonly hold: Hold
  readonly #metrics: LogMetrics
  readonly #pool: Pool
  readonly #checks: Checks
  readonly #listeners = new Set<CommitListener>()
  #retryTimer: NodeJS.Timeout | undefined

  constructor({ pool, checks, hold, metrics }: ChangeLogParts) {
    this.#pool = pool
    this.#checks = checks
    this.hold = hold
    this.#metrics = metrics
  }

  /** Waits until no commit can add a smaller number. */
  async last(): Promise<number> {
    const results = await this.#pool.ask([
      readLastDrawn.with(noInputs),
      readLowestHeld.with(noInputs),
      newest.with(noInputs),
    ])
    const last = numberIn(results[2])
    for (let settledNumber = boundOf(results); settledNumber < last; ) {
      await new Promise(resolve => setTimeout(resolve, retryMs))
      settledNumber = boundOf(
        await this.#pool.ask([readLastDrawn.with(noInputs), readLowestHeld.with(noInputs)]),
      )
    }
    return last
  }

  /** Polls the versions before it returns changes, so that a listener never reads cached data older than a change. */
  async after(event: number, limit: number, maxBytes?: number): Promise<readonly LoggedChange[]> {
    const events =
      maxBytes === undefined
        ? eventsAfter.with(slotInputs([event, limit]))
        : eventsWithin.with(slotInputs([event, limit, maxBytes]))
    const results = await this.#pool.ask([
      readLastDrawn.with(noInputs),
      readLowestHeld.with(noInputs),
      events,
    ])
    const settledNumber = boundOf(results)
    const rows = results[2] ?? []
    const settledRows = rows.filter(([id]) => Number(id) <= settledNumber)
    if (settledRows.length < rows.length) this.#notifyLater()
    if (settledRows.length > 0) await this.#checks.poll()
    return settledRows.map(loggedChange)
  }

  async bounds(): Promise<LogBounds> {
    const results = await this.#pool.ask([
      readLastDrawn.with(noInputs),
      readLowestHeld.with(noInputs),
      pruned.with(noInputs),
    ])
    return { pruned: numberIn(results[2]), drawn: boundOf(results) }
  }

  counts(): LogCounts {
    return this.#metrics.counts
  }

  onCommit(listener: CommitListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  poll(): Promise<void> {
    return this.#checks.poll()
  }

  notify(from: 'here' | 'elsewhere'): void {
    for (const listener of this.#listeners) listener(from)
  }

  close(): void {
    clearTimeout(this.#retryTimer)
  }

  #notifyLater(): void {
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = undefined
      this.notify('elsewhere')
    }, retryMs)
  }
}

/** The number up to which no commit can add an event. */
function boundOf([last, lowest]: readonly DataRows[]): number {
  const lowestHeld = lowest?.[0]?.[0]
  return Math.min(numberIn(last), typeof lowestHeld === 'number' ? lowestHeld : Number.MAX_SAFE_INTEGER)
}

function numberIn(rows: DataRows | undefined): number {
  return Number(rows?.[0]?.[0] ?? 0)
}
