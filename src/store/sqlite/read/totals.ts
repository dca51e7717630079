/** How many rows whole collections have. */
import { slot, sql } from '../../sql/writer.ts'
import { slotted } from '../../values.ts'
import type { Connection, Statement } from '../connection.ts'

/** How many rows the collection has that slot 0 names. */
export const totalSql = sql`SELECT "n" FROM "_totals" WHERE "collection" = ${slot(0)}`

/** How many rows whole collections have, from the table that triggers keep. */
export class Totals {
  readonly #connection: Connection
  #statement: Statement | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  of(collection: string): number {
    this.#statement ??= this.#connection.prepare(totalSql)
    return Number(this.#statement.get(slotted([collection]))?.[0] ?? 0)
  }
}
