/** The number of rows of whole collections. */
import { slot, sql } from '../../sql/writer.ts'
import { slotInputs } from '../../values.ts'
import type { Connection } from '../connection.ts'
import type { Statement } from '../statement.ts'

/** The number of rows of the collection that slot 0 names. */
export const totalSql = sql`SELECT "n" FROM "_totals" WHERE "collection" = ${slot(0)}`

/** Reads the totals from the table that triggers maintain. */
export class Totals {
  readonly #connection: Connection
  #statement: Statement | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  of(collection: string): number {
    this.#statement ??= this.#connection.prepare(totalSql)
    return Number(this.#statement.get(slotInputs([collection]))?.[0] ?? 0)
  }
}
