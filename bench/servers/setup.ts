/** The setups in which Portico is measured: the database, and the number of workers. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { query } from '../../test/setups/databases/postgres.ts'
import { PostgresServer } from '../../test/setups/databases/postgres-server.ts'
import { startStandbys, untilCaughtUp } from '../../test/setups/databases/replicated.ts'
import { copyOf, type DataSet, type WorkCopy } from '../data-set/data.ts'
import type { Workload } from '../workloads/workloads.ts'
import { porticoEnvironment, type Running } from './server.ts'

/** A part of `Workload['floor']`. */
type Floor = keyof Workload['floor']

export interface Setup {
  readonly name: string
  readonly environment: Readonly<Record<string, string>>
  /** The floor that applies to responses from the database. */
  readonly floor: Floor | undefined
  copy(data: DataSet): Promise<WorkCopy>
  /** Throws if the part that the setup's name states did not answer the reads. */
  check?(running: Running): Promise<void>
  close(): Promise<void>
}

const none = async () => {}

export const sqlite: Setup = {
  name: 'SQLite',
  environment: {},
  floor: 'cold',
  copy: async data => copyOf(data),
  close: none,
}

export function withWorkers(count: number): Setup {
  return {
    ...sqlite,
    name: `SQLite, ${count} workers`,
    environment: { WORKERS: String(count) },
    floor: undefined,
  }
}

function porticoCopy({ database: from, model }: DataSet, to: string): void {
  const { status, stderr } = spawnSync(
    process.execPath,
    ['dist/bin.js', 'copy', '--from', from, '--to', to],
    {
      cwd: join(import.meta.dirname, '../..'),
      env: { ...process.env, ...porticoEnvironment, PORTICO_MODEL: model },
      encoding: 'utf8',
    },
  )
  if (status !== 0) throw new Error(`The data could not be copied into PostgreSQL:\n${stderr}`)
}

/** PostgreSQL's default settings, except for memory. */
const settings = { shared_buffers: '256MB' }
/** Row security policies do not apply to superusers, so no measured service connects as one. */
const owner = 'bench'

function urlOf({ url }: PostgresServer, database: string): string {
  const address = new URL(url)
  address.username = owner
  address.pathname = `/${database}`
  return address.href
}

async function fillBase(server: PostgresServer, data: DataSet): Promise<void> {
  await query(server.url, `CREATE ROLE "${owner}" LOGIN`)
  await query(server.url, `CREATE DATABASE "base" OWNER "${owner}"`)
  const original = copyOf(data)
  porticoCopy(original.data, urlOf(server, 'base'))
  await original.remove()
}

async function copyOfBase(server: PostgresServer, name: string, data: DataSet): Promise<WorkCopy> {
  await query(server.url, `CREATE DATABASE "${name}" TEMPLATE "base" OWNER "${owner}"`)
  await query(urlOf(server, name), 'VACUUM ANALYZE')
  return {
    data: { ...data, database: urlOf(server, name) },
    remove: async () => void (await query(server.url, `DROP DATABASE "${name}" WITH (FORCE)`)),
  }
}

function setupOn(server: PostgresServer): Setup {
  return {
    name: 'PostgreSQL',
    environment: {},
    floor: 'postgres',
    copy: data => copyOfBase(server, 'work', data),
    close: () => server.remove(),
  }
}

/** With a PostgreSQL server of its own. */
export async function postgres(data: DataSet): Promise<Setup> {
  const server = new PostgresServer(settings)
  await server.start()
  await fillBase(server, data)
  return setupOn(server)
}

/** On the server of another setup, which closes it. */
function withRowSecurity(server: PostgresServer): Setup {
  return {
    name: 'PostgreSQL with row security',
    environment: { PORTICO_ROW_SECURITY: 'on' },
    floor: undefined,
    copy: data => copyOfBase(server, 'row_security', data),
    close: none,
  }
}

/** Nothing is written during the measurement, so that the standby can answer every read. */
async function requireReplica({ origin }: Running): Promise<void> {
  const text = await (await fetch(`${origin}/metrics`)).text()
  const countOf = (name: string) => Number(new RegExp(`^portico_${name}_total (\\d+)`, 'm').exec(text)?.[1])
  const [reads, answered] = [countOf('answer_cache_misses'), countOf('replica_reads')]
  if (!(answered > 0.95 * reads))
    throw new Error(`The replica answered only ${answered} of ${reads} reads, so this would not measure it.`)
}

/** With a PostgreSQL server of its own, and a standby that answers reads. */
async function withReplica(data: DataSet): Promise<Setup> {
  const { primary, standbys, close } = await startStandbys(1, settings)
  const [standby] = standbys
  if (standby === undefined) throw new Error('There is no standby.')
  await fillBase(primary, data)
  return {
    name: 'PostgreSQL with a replica',
    environment: { DATABASE_REPLICA_URLS: urlOf(standby, 'work') },
    floor: undefined,
    async copy(source) {
      const copy = await copyOfBase(primary, 'work', source)
      await untilCaughtUp(primary.url, standby.url)
      return copy
    },
    check: requireReplica,
    close,
  }
}

/** PostgreSQL with row security, with a read replica, and without either. */
export async function postgresSetups(data: DataSet): Promise<readonly Setup[]> {
  const server = new PostgresServer(settings)
  await server.start()
  await fillBase(server, data)
  return [setupOn(server), withRowSecurity(server), await withReplica(data)]
}
