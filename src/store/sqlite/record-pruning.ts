/** Removes expired records and those of deleted users, a few at a time. */
import { lastOwned, Round, removeOrphans } from '../records.ts'
import { slot, sql } from '../sql/writer.ts'
import { slotted } from '../values.ts'
import type { Connection, Statement } from './connection.ts'

/** How many records are removed in one transaction, so that no write waits long. */
const rowsPerPrune = 200
/** The pause after a transaction that found no more, in milliseconds. */
const pruneIntervalMs = 5_000

export class RecordPruning {
  readonly #prune: Statement
  readonly #removeOrphans: Statement
  readonly #lastOwned: Statement
  readonly #round = new Round(rowsPerPrune)
  #next = 0

  constructor(connection: Connection) {
    this.#prune = connection.prepare(
      sql`DELETE FROM "_records" WHERE ("kind", "id") IN (SELECT "kind", "id" FROM "_records" WHERE "expires_at" <= ${slot(0)} ORDER BY "expires_at" LIMIT ${slot(1)} + 0) RETURNING 1`,
    )
    this.#removeOrphans = connection.prepare(removeOrphans)
    this.#lastOwned = connection.prepare(lastOwned)
  }

  /** Within a transaction: removes some if it is time. `now`: in milliseconds. */
  prune(now: number): void {
    if (now < this.#next) return
    const gone = this.#prune.all(slotted([now, rowsPerPrune]))
    const step = slotted(this.#round.slots)
    this.#round.stepped(this.#removeOrphans.all(step).length, this.#lastOwned.get(step))
    this.#next = gone.length < rowsPerPrune ? now + pruneIntervalMs : now
  }
}
