/** The connection of a process that changes the tables, and the lock that lets only one do so. */
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { sessionSettings } from '../../postgres/connections/session-settings.ts'
import { isConnectionLost, MigrationError } from '../refusal.ts'
import { reasonOf } from './retries.ts'

/** Runs `use` with a connection of its own. `schema`: see `connect`. */
export async function withConnection<T>(
  url: string,
  use: (client: pg.Client) => Promise<T>,
  schema?: string,
): Promise<T> {
  const client = await connect(url, schema)
  try {
    return await use(client)
  } catch (cause) {
    throw asMigrationError(cause)
  } finally {
    await client.end().catch(() => {})
  }
}

/** An error of the database as a `MigrationError`; any other error unchanged. */
function asMigrationError(cause: unknown): unknown {
  if (cause instanceof pg.DatabaseError) {
    return new MigrationError(`The database refuses: ${reasonOf(cause)}.`, { cause })
  }
  if (!isConnectionLost(cause)) return cause
  return new MigrationError(
    `The connection to the database broke: ${reasonOf(cause)}. Run the same command again.`,
    {
      cause,
    },
  )
}

/** The schema of all tables: the first of the search path. Undefined: there is none. */
export async function currentSchema(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query('SELECT current_schema() AS "name"')
  return rows[0]?.name ?? undefined
}

/** A connection without time limits, within the schema or the first of its search path. Rejects with a `MigrationError`. */
export async function connect(url: string, schema?: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'portico migrate',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    // Detects a vanished server: nothing else ends the wait for a long statement.
    keepAliveInitialDelayMillis: 10_000,
  })
  // The statement that is running rejects with the same error.
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (cause) {
    throw new MigrationError(`The database cannot be reached: ${reasonOf(cause)}.`, { cause })
  }
  try {
    await prepare(client, schema)
    return client
  } catch (cause) {
    await client.end().catch(() => {})
    throw asMigrationError(cause)
  }
}

async function prepare(client: pg.Client, schema: string | undefined): Promise<void> {
  const { rows } = await client
    .query(
      `${sessionSettings(schema)}; SET portico.service = 'on'; SET client_min_messages = warning; SHOW server_encoding`,
    )
    .then(results => (Array.isArray(results) ? results.at(-1) : results))
  // Lets the server detect that this process was killed, even during a statement. Not every system supports it.
  await client.query("SET client_connection_check_interval = '2s'").catch(() => {})
  const encoding = String(rows[0]?.server_encoding)
  if (encoding !== 'UTF8') {
    throw new MigrationError(`The database has the encoding ${encoding}: create one with the encoding UTF8.`)
  }
}

/** Rolls back if `work` rejects. */
export async function inTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query('BEGIN')
  try {
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** The advisory lock of a process that changes the tables. */
const migrationLock = '20591, 1'
/** The upper half of the key of a writer's lock; the lower half is the node's number, or 0 for migrations. */
export const writerLockClass = '20592'
/** How long a node may assume that no other node writes, in milliseconds since it asked. */
export const leaseMs = 50
/** How long a writer waits between taking its lock and its first commit: a timer may fire a little early. */
export const noticeMs = leaseMs + 10

/** To be called before the first change to rows that nodes may have cached: see `lease.ts`. The lock is held until the connection ends. */
export async function announceWriter(client: pg.Client): Promise<void> {
  await client.query(`SELECT pg_advisory_lock_shared(${writerLockClass}, 0)`)
  await wait(noticeMs)
}

const maxLockWaitMs = 10 * 60 * 1000

/**
 * Polls for the lock: a statement that waited for it would hold a snapshot, for which a `CREATE INDEX CONCURRENTLY` of the
 * process that has the lock would wait.
 */
export async function withMigrationLock<T>(client: pg.Client, run: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + maxLockWaitMs
  while (!(await tryLock(client))) {
    if (Date.now() > deadline) {
      throw new MigrationError(
        'Another process has been migrating the database for ten minutes. Try again later.',
      )
    }
    await wait(50 + Math.random() * 50)
  }
  return runAndUnlock(client, run)
}

/** The same, but does nothing if another process has the lock. */
export async function tryWithMigrationLock(client: pg.Client, run: () => Promise<void>): Promise<void> {
  if (await tryLock(client)) await runAndUnlock(client, run)
}

async function runAndUnlock<T>(client: pg.Client, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } finally {
    await client.query(`SELECT pg_advisory_unlock(${migrationLock})`).catch(() => {})
  }
}

/** Takes the lock until the connection ends. False: another process has it. */
export async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(`SELECT pg_try_advisory_lock(${migrationLock}) AS "locked"`)
  return rows[0]?.locked === true
}
