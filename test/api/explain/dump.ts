/** All rows of a database, read without the service: a line for each row. */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

export interface Dump {
  lines(): Promise<readonly string[]>
  close(): Promise<void>
}

function rowsOf(database: DatabaseSync, table: string): readonly string[] {
  const statement = database.prepare(`SELECT * FROM "${table}"`)
  statement.setReadBigInts(true)
  return statement.all().map(row => `${table} ${Object.values(row).map(String).join(' ')}`)
}

function sqliteDump(file: string): Dump {
  const database = new DatabaseSync(file, { readOnly: true })
  const tablesQuery =
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%!_fts%' ESCAPE '!'"
  return {
    async lines() {
      const names = database.prepare(tablesQuery).all()
      return names.flatMap(({ name }) => rowsOf(database, String(name))).sort()
    },
    close: async () => database.close(),
  }
}

async function postgresDump(url: string): Promise<Dump> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
  )
  const parts = rows.map(({ name }) => `SELECT '${name} ' || t::text FROM ${name} t`)
  return {
    async lines() {
      const result = await client.query({ text: parts.join(' UNION ALL '), rowMode: 'array' })
      return result.rows.flat().sort()
    },
    close: () => client.end(),
  }
}

/** `database`: as in the setting. */
export async function openDump(database: string): Promise<Dump> {
  return database.startsWith('postgres') ? postgresDump(database) : sqliteDump(database)
}
