/** The connection of whoever changes the tables, and the lock by which only one does. */
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { isBroken, MigrationError } from '../refusal.ts'
import { reasonOf } from './patience.ts'

/** Runs `use` with a connection of its own. */
export async function connected<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connect(url)
  try {
    return await use(client)
  } catch (cause) {
    throw explained(cause)
  } finally {
    await client.end().catch(() => {})
  }
}

/** What the database says as a sentence; faults of our own as they are. */
function explained(cause: unknown): unknown {
  if (cause instanceof pg.DatabaseError) {
    return new MigrationError(`The database refuses: ${reasonOf(cause)}.`, { cause })
  }
  if (!isBroken(cause)) return cause
  return new MigrationError(`The connection to the database broke: ${reasonOf(cause)}. Run the same again.`, {
    cause,
  })
}

/** A connection for as long as it takes. Rejects with a `MigrationError`. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'portico migrate',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    // A server that has vanished is noticed: nothing else ends the wait for a statement that takes long.
    keepAliveInitialDelayMillis: 10_000,
  })
  // What breaks the connection is the answer to the statement under way, too.
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (cause) {
    throw new MigrationError(`The database cannot be reached: ${reasonOf(cause)}.`, { cause })
  }
  const { rows } = await client
    .query(
      "SET portico.service = 'on'; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET client_min_messages = warning; SHOW server_encoding",
    )
    .then(results => (Array.isArray(results) ? results.at(-1) : results))
  // The server notices that this process was killed, also while it works or waits. Not every system can.
  await client.query("SET client_connection_check_interval = '2s'").catch(() => {})
  const encoding = String(rows[0]?.server_encoding)
  if (encoding === 'UTF8') return client
  await client.end().catch(() => {})
  throw new MigrationError(`The database keeps texts as ${encoding}: make one with the encoding UTF8.`)
}

/** The advisory lock of whoever changes the tables. */
const migrationLock = '20591, 1'
/** The upper half of the keys of the locks of those who may write; the lower is the node's number, 0 for migrations. */
export const WRITERS = '20592'
/** How long a node may believe that nobody else writes, in milliseconds since it asked. */
export const LEASE = 50
/** How long whoever has taken the lock of writers waits before the first commit: a timer may end a little early. */
export const NOTICE = LEASE + 10

/** Before the first change to rows that nodes may know: see `lease.ts`. The lock is held until the connection ends. */
export async function announce(client: pg.Client): Promise<void> {
  await client.query(`SELECT pg_advisory_lock_shared(${WRITERS}, 0)`)
  await wait(NOTICE)
}

const maxLockWaitMs = 10 * 60 * 1000

/**
 * Asks again and again: a statement that waited for the lock would hold a snapshot, for which the
 * `CREATE INDEX CONCURRENTLY` of whoever has it would wait.
 */
export async function locked<T>(client: pg.Client, run: () => Promise<T>): Promise<T> {
  const until = Date.now() + maxLockWaitMs
  while (!(await tryLock(client))) {
    if (Date.now() > until) {
      throw new MigrationError(
        'Another process has been migrating the database for ten minutes. Try again later.',
      )
    }
    await wait(50 + Math.random() * 50)
  }
  return unlocking(client, run)
}

/** The same, but that it does nothing where another has the lock. */
export async function unlessLocked(client: pg.Client, run: () => Promise<void>): Promise<void> {
  if (await tryLock(client)) await unlocking(client, run)
}

async function unlocking<T>(client: pg.Client, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } finally {
    await client.query(`SELECT pg_advisory_unlock(${migrationLock})`).catch(() => {})
  }
}

/** Takes the lock of whoever changes the tables, until the connection ends. False: somebody else has it. */
export async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(`SELECT pg_try_advisory_lock(${migrationLock}) AS "locked"`)
  return rows[0]?.locked === true
}
