/** Reads the log of committed changes: in order and without gaps, despite concurrent commits (see `event-log.ts`). */
import type { Hold } from '../../log/holds.ts'
import type { LogMetrics } from '../../log/log-metrics.ts'
import { loggedChange } from '../../log/logged-change.ts'
import type { Change, Changes, CommitListener, LogBounds, LogCounts } from '../../store.ts'
import { noInputs, slotted } from '../../values.ts'
import type { Pool } from '../connections/pool.ts'
import type { Rows } from '../connections/statement.ts'
import type { Checks } from '../versions/checks.ts'
import { drawn, eventsAfter, eventsWithin, held, newest, pruned } from './event-log.ts'

/** The pause before another look at changes that unfinished commits hold back, in milliseconds. */
const retryMs = 5

interface ChangeLogParts {
  /** Each of its statements sees what was committed before it. */
  readonly pool: Pool
  readonly checks: Checks
  readonly hold: Hold
  readonly metrics: LogMetrics
}

export class ChangeLog implements Changes {
  readonly hold: Hold
  readonly #metrics: LogMetrics
  readonly #pool: Pool
  readonly #checks: Checks
  readonly #listeners = new Set<CommitListener>()
  #again: NodeJS.Timeout | undefined

  constructor({ pool, checks, hold, metrics }: ChangeLogParts) {
    this.#pool = pool
    this.#checks = checks
    this.hold = hold
    this.#metrics = metrics
  }

  /** Waits until no commit can add a smaller number. */
  async last(): Promise<number> {
    const first = await this.#pool.ask([drawn.with(noInputs), held.with(noInputs), newest.with(noInputs)])
    const last = numberIn(first[2])
    for (let bound = boundOf(first); bound < last; ) {
      await new Promise(resolve => setTimeout(resolve, retryMs))
      bound = boundOf(await this.#pool.ask([drawn.with(noInputs), held.with(noInputs)]))
    }
    return last
  }

  /** Answers cached before these changes are not used after them: a change is delivered with data no older than it. */
  async after(event: number, limit: number, maxBytes?: number): Promise<readonly Change[]> {
    const events =
      maxBytes === undefined
        ? eventsAfter.with(slotted([event, limit]))
        : eventsWithin.with(slotted([event, limit, maxBytes]))
    const results = await this.#pool.ask([drawn.with(noInputs), held.with(noInputs), events])
    const bound = boundOf(results)
    const rows = results[2] ?? []
    const settled = rows.filter(([id]) => Number(id) <= bound)
    if (settled.length < rows.length) this.#lookAgain()
    if (settled.length > 0) await this.#checks.look()
    return settled.map(loggedChange)
  }

  async bounds(): Promise<LogBounds> {
    const found = await this.#pool.ask([drawn.with(noInputs), held.with(noInputs), pruned.with(noInputs)])
    return { pruned: numberIn(found[2]), drawn: boundOf(found) }
  }

  counts(): LogCounts {
    return this.#metrics.counts
  }

  onCommit(listener: CommitListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  look(): Promise<void> {
    return this.#checks.look()
  }

  tell(from: 'here' | 'elsewhere'): void {
    for (const listener of this.#listeners) listener(from)
  }

  close(): void {
    clearTimeout(this.#again)
  }

  #lookAgain(): void {
    this.#again ??= setTimeout(() => {
      this.#again = undefined
      this.tell('elsewhere')
    }, retryMs)
  }
}

/** The number up to which no commit can add an event. */
function boundOf([last, lowest]: readonly Rows[]): number {
  const held = lowest?.[0]?.[0]
  return Math.min(numberIn(last), typeof held === 'number' ? held : Number.MAX_SAFE_INTEGER)
}

function numberIn(rows: Rows | undefined): number {
  return Number(rows?.[0]?.[0] ?? 0)
}
