/**
 * PostgreSQL databases for tests: on the server in PORTICO_TEST_POSTGRES, else on the server shared by the whole run
 * (`scripts/databases.mjs`), else on a server of this process.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { configuredPostgres } from '../../programs.ts'

/** Whether the server ends with the run of tests, whose processes share what they prepare on it (`scripts/test.mjs`). */
export const isServerOfRun = process.env.PORTICO_TEST_RUN !== undefined && configuredPostgres() === undefined

let server: Promise<string> | undefined

/** The URL of the superuser. */
export function serverUrl(): Promise<string> {
  server ??= findServer()
  return server
}

async function findServer(): Promise<string> {
  const { PORTICO_TEST_SERVERS: shared } = process.env
  const configured = configuredPostgres()
  if (configured !== undefined) return configured
  return shared ? printedUrl(connect(shared)) : ownServer()
}

/** Starts a server that ends with this process, which holds its input open. */
async function ownServer(): Promise<string> {
  const program = fileURLToPath(new URL('server-process.ts', import.meta.url))
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] })
  const url = await printedUrl(child.stdout)
  child.unref()
  return url
}

/** The URL that a server process prints; throws the error if it prints one. */
async function printedUrl(input: Readable): Promise<string> {
  for await (const line of createInterface({ input })) {
    const { url, error } = JSON.parse(line)
    input.destroy()
    if (typeof url === 'string') return url
    throw new Error(String(error))
  }
  throw new Error('The PostgreSQL server of the tests exited before it was ready.')
}

const bigintOid = 20

/** Parses bigint as number. */
const getTypeParser: typeof pg.types.getTypeParser = (oid, format) =>
  oid === bigintOid ? Number : pg.types.getTypeParser(oid, format)

/** Runs statements on a database; returns the rows of the last one. */
export async function query(
  url: string,
  text: string,
  values?: readonly unknown[],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, types: { getTypeParser } })
  await client.connect()
  try {
    const result: pg.QueryResult | pg.QueryResult[] = await client.query(text, values && [...values])
    return (Array.isArray(result) ? result.at(-1) : result)?.rows ?? []
  } finally {
    await client.end()
  }
}

/** For `CREATE DATABASE`: copies files instead of logging every page, which takes half of the processor time. */
export const copyQuickly = 'STRATEGY file_copy'

export interface TestDatabase {
  readonly url: string
  drop(): Promise<void>
}

/** A new, empty database. */
export async function newDatabase(): Promise<TestDatabase> {
  const admin = await serverUrl()
  const name = `test_${randomBytes(8).toString('hex')}`
  await query(admin, `CREATE DATABASE "${name}" TEMPLATE template0 ${copyQuickly}`)
  const url = new URL(admin)
  url.pathname = `/${name}`
  return {
    url: url.href,
    drop: async () => {
      await query(admin, `DROP DATABASE "${name}" WITH (FORCE)`)
    },
  }
}

/** Runs `use` with the URL of a new, empty database, which is dropped afterwards. */
export async function withPostgres<T>(use: (url: string) => T | Promise<T>): Promise<T> {
  const database = await newDatabase()
  try {
    return await use(database.url)
  } finally {
    await database.drop()
  }
}
