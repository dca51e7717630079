/** The log of changes, written in the transaction of each change. */
import { slot, sql } from '../../sql/writer.ts'
import { slotted } from '../../values.ts'
import type { ItemChange } from '../../write/event.ts'
import type { Connection, Statement } from '../connection.ts'

/** Rows pruned at once, so that no write waits long. */
const rowsPerPrune = 500
const pruneIntervalMs = 10_000

export class EventLog {
  readonly #insert: Statement
  readonly #prune: Statement
  readonly #kept: number
  #nextPrune = 0

  /** `kept`: how long events stay, in milliseconds. */
  constructor(connection: Connection, kept: number) {
    this.#kept = kept
    this.#insert = connection.prepare(
      sql`INSERT INTO "_events" ("at", "collection", "item_id", "kind", "data", "changed", "before", "user_id", "app_id", "type") VALUES (${slot(0)}, ${slot(1)}, ${slot(2)}, ${slot(3)}, ${slot(4)}, ${slot(5)}, ${slot(6)}, ${slot(7)}, ${slot(8)}, ${slot(9)})`,
    )
    this.#prune = connection.prepare(
      sql`DELETE FROM "_events" WHERE "id" IN (SELECT "id" FROM (SELECT "id", "at" FROM "_events" ORDER BY "id" LIMIT ${slot(1)} + 0) WHERE "at" < ${slot(0)}) RETURNING "id"`,
    )
  }

  /** `at`: ISO 8601 UTC. */
  add(at: string, { collection, itemId, kind, data, changed, before, by, type }: ItemChange): void {
    const names = changed === undefined ? null : JSON.stringify(changed)
    this.#insert.run(
      slotted([at, collection, itemId, kind, data, names, before, by.userId, by.appId, type ?? null]),
    )
  }

  /** Within a transaction: drops some of the events that are too old, now and then. `now` in milliseconds. */
  prune(now: number): void {
    if (now < this.#nextPrune) return
    const oldest = new Date(now - this.#kept).toISOString()
    const pruned = this.#prune.all(slotted([oldest, rowsPerPrune]))
    this.#nextPrune = pruned.length < rowsPerPrune ? now + pruneIntervalMs : now
  }
}
