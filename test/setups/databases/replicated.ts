/** A primary with hot standbys, and databases on all of them. */
import { setTimeout as wait } from 'node:timers/promises'
import { query } from './postgres.ts'
import { fastSettings, PostgresServer, type PostgresSettings } from './postgres-server.ts'

const timeoutMs = 120_000

/** Waits up to a minute until the condition holds. */
export async function until(description: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within a minute: ${description}`)
    await wait(5)
  }
}

export interface ReplicatedServers {
  readonly primary: PostgresServer
  readonly standbys: readonly PostgresServer[]
  /** A new, empty database on every server. */
  newDatabase(): Promise<ReplicatedDatabase>
  close(): Promise<void>
}

/** The URLs of one database on all servers. */
export interface ReplicatedDatabase {
  readonly url: string
  readonly standbys: readonly string[]
}

/** Starts servers for one test. */
export async function startStandbys(
  count: number,
  settings: PostgresSettings = fastSettings,
): Promise<ReplicatedServers> {
  const servers: PostgresServer[] = []
  const close = async () => {
    for (const server of servers.toReversed()) await server.remove()
  }
  try {
    const primary = new PostgresServer(settings)
    servers.push(primary)
    await primary.start()
    for (let n = 0; n < count; n++) servers.push(new PostgresServer(settings, primary))
    const standbys = servers.slice(1)
    await Promise.all(standbys.map(standby => standby.start()))
    let databases = 0
    const newDatabase = async () => {
      const name = `database_${++databases}`
      await query(primary.url, `CREATE DATABASE ${name} TEMPLATE template0`)
      await Promise.all(standbys.map(standby => untilCaughtUp(primary.url, standby.url)))
      return {
        url: databaseUrl(primary, name),
        standbys: standbys.map(standby => databaseUrl(standby, name)),
      }
    }
    return { primary, standbys, newDatabase, close }
  } catch (error) {
    await close()
    throw error
  }
}

function databaseUrl({ url }: PostgresServer, name: string): string {
  return url.replace(/postgres$/, name)
}

/** Waits until the standby has replayed what the primary has written so far. */
export async function untilCaughtUp(primary: string, standby: string): Promise<void> {
  const [written] = await query(primary, 'SELECT pg_current_wal_flush_lsn()::text AS place')
  const replayed = 'SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS done'
  await until('the standby has replayed', async () => {
    const [row] = await query(standby, replayed, [written?.place])
    return row?.done === true
  })
}

/** Stops the replay of WAL on the standby. */
export async function pauseReplay(standby: string): Promise<void> {
  await query(standby, 'SELECT pg_wal_replay_pause()')
  await until('replay is paused', async () => {
    const [row] = await query(standby, 'SELECT pg_get_wal_replay_pause_state() AS state')
    return row?.state === 'paused'
  })
}

export async function resumeReplay(standby: string): Promise<void> {
  await query(standby, 'SELECT pg_wal_replay_resume()')
}
