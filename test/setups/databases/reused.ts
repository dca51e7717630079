/** PostgreSQL databases that are emptied and reused, since creating one with its tables takes ten times as long. */
import type { Model } from '../../../src/model/model.ts'
import { query, type TestDatabase } from './postgres.ts'

interface PreparedDatabase extends TestDatabase {
  /** The URL of the superuser. */
  readonly admin: string
}

interface DatabaseSource<D extends PreparedDatabase> {
  /** A new database with the tables of the model. */
  prepare(model: Model): Promise<D>
  /** Models with the same key have the same tables. */
  keyOf(model: Model): string
}

/** The number of unused databases to keep: a random model is seldom used again. */
const maxFree = 4

/** Deletes all rows except the schema that a migration has stored. */
const deleteRows = `DO $$ DECLARE one record; BEGIN
  SET LOCAL session_replication_role = 'replica';
  FOR one IN SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('_portico', '_touched')
  LOOP EXECUTE format('DELETE FROM %I', one.name); END LOOP;
  FOR one IN SELECT sequencename AS name FROM pg_sequences WHERE schemaname = 'public'
  LOOP PERFORM setval(quote_ident(one.name), 1, false); END LOOP;
END $$`

export class ReusedDatabases<D extends PreparedDatabase> {
  readonly #source: DatabaseSource<D>
  readonly #free: { readonly key: string; readonly database: D }[] = []

  constructor(source: DatabaseSource<D>) {
    this.#source = source
  }

  /** A database with the empty tables of the model, for exclusive use until `drop`. */
  async take(model: Model): Promise<D> {
    const key = this.#source.keyOf(model)
    const index = this.#free.findIndex(free => free.key === key)
    const [reused] = index < 0 ? [] : this.#free.splice(index, 1)
    const database = reused?.database ?? (await this.#source.prepare(model))
    return { ...database, drop: () => this.#giveBack(key, database) }
  }

  /** Drops the unused databases. */
  async close(): Promise<void> {
    for (const { database } of this.#free.splice(0)) await database.drop().catch(() => {})
  }

  async #giveBack(key: string, database: D): Promise<void> {
    await query(database.admin, deleteRows)
    this.#free.push({ key, database })
    if (this.#free.length > maxFree) await this.#free.shift()?.database.drop()
  }
}
