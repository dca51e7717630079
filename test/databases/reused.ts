/** PostgreSQL databases that are emptied and reused, since creating one with its tables takes ten times as long. */
import pg from 'pg'
import type { Model } from '../../src/model/model.ts'
import { KeptConnection, type TestDatabase } from './postgres.ts'

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

/** Leaves JSON as text. */
const getTypeParser: typeof pg.types.getTypeParser = (oid, format) =>
  oid === pg.types.builtins.JSON ? (text: string) => text : pg.types.getTypeParser(oid, format)

export type ReusedDatabase<D extends TestDatabase> = D & {
  /** A connection of the superuser, from which JSON is read as text. */
  readonly superuser: KeptConnection
}

export class ReusedDatabases<D extends PreparedDatabase> {
  readonly #source: DatabaseSource<D>
  readonly #free: { readonly key: string; readonly database: ReusedDatabase<D> }[] = []

  constructor(source: DatabaseSource<D>) {
    this.#source = source
  }

  /** A database with the empty tables of the model, for exclusive use until `drop`. */
  async take(model: Model): Promise<ReusedDatabase<D>> {
    const key = this.#source.keyOf(model)
    const index = this.#free.findIndex(free => free.key === key)
    const [reused] = index < 0 ? [] : this.#free.splice(index, 1)
    const database = reused?.database ?? (await this.#prepare(model))
    return { ...database, drop: () => this.#giveBack(key, database) }
  }

  /** Drops the unused databases. */
  async close(): Promise<void> {
    for (const { database } of this.#free.splice(0)) await database.drop().catch(() => {})
  }

  async #prepare(model: Model): Promise<ReusedDatabase<D>> {
    const database = await this.#source.prepare(model)
    const superuser = new KeptConnection(() => database.admin, { getTypeParser })
    const drop = async () => {
      await superuser.close()
      await database.drop()
    }
    return { ...database, superuser, drop }
  }

  async #giveBack(key: string, database: ReusedDatabase<D>): Promise<void> {
    await database.superuser.query(deleteRows)
    this.#free.push({ key, database })
    if (this.#free.length > maxFree) await this.#free.shift()?.database.drop()
  }
}
