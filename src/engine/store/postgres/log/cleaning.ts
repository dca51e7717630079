/** Deletes old events, expired records, records of deleted users, and old rows of `_touched`, a few at a time. */
import { Pause } from '../../../../base/pause.ts'
import { lastOwned, Round, removeOrphans } from '../../records.ts'
import { slot, sql } from '../../sql/writer.ts'
import { slotInputs } from '../../values.ts'
import type { Connection } from '../connections/connection.ts'
import { statementOf } from '../connections/statement.ts'
import { pruneTouched } from './event-log.ts'
import { type LogPruning, runOn } from './pruning.ts'

/** How often to clean, in milliseconds. */
const cleanIntervalMs = 5000
/** How many rows are deleted at once, so that no write waits long. */
const rowsPerStep = 500
/** How long the rows of commits are kept, in milliseconds. A node that has not checked for longer clears its caches. */
const touchedRetentionMs = 2 * 60_000

const pruneRecords = statementOf(
  sql`DELETE FROM "_records" WHERE ("kind", "id") IN (SELECT "kind", "id" FROM "_records" WHERE "expires_at" <= ${slot(0)} ORDER BY "expires_at" LIMIT ${slot(1)} FOR UPDATE SKIP LOCKED) RETURNING 1`,
)

const deleteOrphans = statementOf(removeOrphans)
const lastChecked = statementOf(lastOwned)

export class Cleaning {
  readonly #log: LogPruning
  readonly #now: () => number
  readonly #round = new Round(rowsPerStep)
  readonly #pause = new Pause()

  constructor({ log, now }: { readonly log: LogPruning; readonly now: () => number }) {
    this.#log = log
    this.#now = now
  }

  /** Cleans every few seconds, in separate transactions. */
  async clean(connection: Connection): Promise<void> {
    const now = this.#now()
    if (!this.#pause.isOver(now)) return
    this.#pause.begin(now, cleanIntervalMs)
    const roundInputs = slotInputs(this.#round.slots)
    const [orphans = [], last = [], records] = await runOn(connection, [
      deleteOrphans.with(roundInputs),
      lastChecked.with(roundInputs),
      pruneRecords.with(slotInputs([now, rowsPerStep])),
      pruneTouched.with(slotInputs([now - touchedRetentionMs])),
    ])
    this.#round.advance(orphans.length, last[0])
    const prunable = await this.#log.inspect(queries => runOn(connection, queries))
    const pruned = prunable === undefined ? 0 : await this.#log.prune(connection, prunable)
    if (records?.length === rowsPerStep || pruned > 0) this.#pause.end()
  }
}
