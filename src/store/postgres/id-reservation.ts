/** Keeps given ids of items apart from those that the database generates. */
import type pg from 'pg'
import { connect } from '../schema/postgres/session.ts'
import { ident, literal } from '../schema/quoted.ts'

/** SQLite needs none: its next id is above every id that a table has had. */
export class IdReservation {
  readonly #client: pg.Client
  readonly #reserved = new Map<string, number>()

  private constructor(client: pg.Client) {
    this.#client = client
  }

  /** Rejects with a `MigrationError` where the database cannot be reached. */
  static async open(url: string): Promise<IdReservation> {
    return new IdReservation(await connect(url))
  }

  /** Items of the collection that are created afterwards without a given id get greater ones, whoever creates them. */
  async reserve(collection: string, lastId: number): Promise<void> {
    if (lastId <= (this.#reserved.get(collection) ?? 0)) return
    const table = ident(collection)
    const sequence = `pg_get_serial_sequence(${literal(table)}, 'id')`
    await this.#client.query('BEGIN')
    try {
      // An INSERT holds a conflicting lock: no id is generated between the look and the change.
      await this.#client.query(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`)
      await this.#client.query(
        `SELECT setval(${sequence}, $1) WHERE coalesce(pg_sequence_last_value(${sequence}::regclass), 0) < $1`,
        [lastId],
      )
      await this.#client.query('COMMIT')
    } catch (cause) {
      await this.#client.query('ROLLBACK').catch(() => {})
      throw cause
    }
    this.#reserved.set(collection, lastId)
  }

  close(): Promise<void> {
    return this.#client.end()
  }
}
