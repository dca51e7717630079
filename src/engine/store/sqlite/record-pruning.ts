/** Deletes expired records and records of deleted users, a few at a time. */
import { Pause } from '../../../base/pause.ts'
import { lastOwned, Round, removeOrphans } from '../records.ts'
import { slot, sql } from '../sql/writer.ts'
import { slotInputs } from '../values.ts'
import type { Connection } from './connection.ts'
import type { Statement } from './statement.ts'

/** How many records one transaction deletes, so that no write waits long. */
const rowsPerPrune = 200
/** The pause after a transaction that left no expired record, in milliseconds. */
const pruneIntervalMs = 5_000

export class RecordPruning {
  readonly #prune: Statement
  readonly #removeOrphans: Statement
  readonly #lastOwned: Statement
  readonly #round = new Round(rowsPerPrune)
  readonly #pause = new Pause()

  constructor(connection: Connection) {
    this.#prune = connection.prepare(
      sql`DELETE FROM "_records" WHERE ("kind", "id") IN (SELECT "kind", "id" FROM "_records" WHERE "expires_at" <= ${slot(0)} ORDER BY "expires_at" LIMIT ${slot(1)} + 0) RETURNING 1`,
    )
    this.#removeOrphans = connection.prepare(removeOrphans)
    this.#lastOwned = connection.prepare(lastOwned)
  }

  /** Within a transaction: deletes some records if the pause is over. `now`: in milliseconds. */
  prune(now: number): void {
    if (!this.#pause.isOver(now)) return
    const pruned = this.#prune.all(slotInputs([now, rowsPerPrune]))
    const roundInputs = slotInputs(this.#round.slots)
    this.#round.advance(this.#removeOrphans.all(roundInputs).length, this.#lastOwned.get(roundInputs))
    if (pruned.length < rowsPerPrune) this.#pause.begin(now, pruneIntervalMs)
  }
}
