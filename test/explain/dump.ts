/** Everything that a database holds, read past the service: one text, by which any change shows. */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

export interface Dump {
  text(): Promise<string>
  close(): Promise<void>
}

function rowsOf(database: DatabaseSync, table: string): string {
  const statement = database.prepare(`SELECT * FROM "${table}"`)
  statement.setReadBigInts(true)
  const rows = statement.all().map(row => JSON.stringify(Object.values(row), (_, one) => String(one)))
  return rows.sort().join('\n')
}

function sqliteDump(file: string): Dump {
  const database = new DatabaseSync(file, { readOnly: true })
  const named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%!_fts%' ESCAPE '!'"
  return {
    async text() {
      const names = database.prepare(named).all()
      return names.map(({ name }) => `${name} ${rowsOf(database, String(name))}`).join('\n')
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
  const parts = rows.map(
    ({ name }) =>
      `SELECT '${name}' || coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '') FROM ${name} t`,
  )
  return {
    async text() {
      const found = await client.query({ text: parts.join(' UNION ALL '), rowMode: 'array' })
      return found.rows.flat().join('\n')
    },
    close: () => client.end(),
  }
}

/** `database`: as the setting names it. */
export async function openDump(database: string): Promise<Dump> {
  return database.startsWith('postgres') ? postgresDump(database) : sqliteDump(database)
}
