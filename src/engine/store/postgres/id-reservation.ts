/** Keeps explicit ids of items apart from those that the database generates. */
import type pg from 'pg'
import { connect, inTransaction } from '../schema/postgres/session.ts'
import { ident, literal } from '../schema/quoted.ts'

/** SQLite needs none: its next id is greater than every id that the table has had. */
export class IdReservation {
  readonly #client: pg.Client
  readonly #reserved = new Map<string, number>()

  private constructor(client: pg.Client) {
    this.#client = client
  }

  /** Rejects with a `MigrationError` if the database cannot be reached. */
  static async open(url: string): Promise<IdReservation> {
    return new IdReservation(await connect(url))
  }

  /** Afterwards, every generated id of the collection is greater than `lastId`, whichever node generates it. */
  async reserve(collection: string, lastId: number): Promise<void> {
    if (lastId <= (this.#reserved.get(collection) ?? 0)) return
    const table = ident(collection)
    const sequence = `pg_get_serial_sequence(${literal(table)}, 'id')`
    await inTransaction(this.#client, async () => {
      // It conflicts with the lock of an INSERT: no id is generated between the two statements.
      await this.#client.query(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`)
      await this.#client.query(
        `SELECT setval(${sequence}, $1) WHERE coalesce(pg_sequence_last_value(${sequence}::regclass), 0) < $1`,
        [lastId],
      )
    })
    this.#reserved.set(collection, lastId)
  }

  close(): Promise<void> {
    return this.#client.end()
  }
}
