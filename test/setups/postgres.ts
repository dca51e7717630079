/** PostgreSQL: with Redis, served by three processes; with row security, served by this process as well. */

import { openPostgres } from '../../src/engine/store/postgres/postgres.ts'
import type { GivenSettings } from '../../src/server/config/config.ts'
import { newOrdinaryDatabase } from './databases/ordinary.ts'
import { newDatabase, query } from './databases/postgres.ts'
import { RedisServer } from './databases/redis.ts'
import { serveInProcess, serveNodes } from './serve.ts'
import type { Deployment, Setup } from './setup.ts'

const connectionsPerNode = 4
/** Settings that all nodes share. */
export const secretKey = 'a key that three nodes of a test share'.replaceAll(' ', '-')

/** Every row of every table, as text. */
export async function dump(url: string): Promise<string> {
  const tables = await query(url, `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`)
  const rows = tables.map(({ name }) => query(url, `SELECT t::text AS row FROM "${name}" AS t`))
  return (await Promise.all(rows))
    .flat()
    .map(({ row }) => String(row))
    .join('\n')
}

interface PostgresDatabase {
  readonly url: string
  /** The connection of a role that sees every row. */
  readonly admin: string
  drop(): Promise<void>
}

function openDeployment(
  { url, admin, drop }: PostgresDatabase,
  serve: typeof serveInProcess,
  ownSettings: GivenSettings,
): Deployment {
  const { rowSecurity = false } = ownSettings
  const settings = {
    database: url,
    databaseConnections: connectionsPerNode,
    secretKeys: [secretKey],
    ...ownSettings,
  }
  return {
    database: url,
    settings,
    environment: {
      DATABASE_URL: url,
      PORTICO_SECRET_KEY: secretKey,
      ...(rowSecurity && { PORTICO_ROW_SECURITY: 'on' }),
    },
    openStore: model => openPostgres(model, { url, connections: connectionsPerNode, rowSecurity }),
    dump: () => dump(admin),
    serve: (declaration, overrides) => serve(declaration, { ...settings, ...overrides }),
    close: drop,
  }
}

async function openNodes(database: PostgresDatabase, ownSettings: GivenSettings = {}): Promise<Deployment> {
  const redis = await RedisServer.start()
  const deployment = openDeployment(database, serveNodes, { redis: { url: redis.url }, ...ownSettings })
  return {
    ...deployment,
    async close() {
      await Promise.all([deployment.close(), redis.remove()])
    },
  }
}

/** Tests the rules in Portico's SQL on a single node, without row policies that could hide their errors. */
export const postgres: Setup = {
  name: 'PostgreSQL',
  async open() {
    const { url, drop } = await newDatabase()
    return openDeployment({ url, admin: url, drop }, serveInProcess, {})
  },
}

export const postgresNodes: Setup = {
  name: 'PostgreSQL and Redis, three nodes',
  async open() {
    const { url, drop } = await newDatabase()
    return openNodes({ url, admin: url, drop })
  },
}

/** The same with row security. */
export const rowSecurityNodes: Setup = {
  name: 'PostgreSQL with row security and Redis, three nodes',
  open: async () => openNodes(await newOrdinaryDatabase(), { rowSecurity: true }),
}

/** For tests of rows alone one node is enough, and starts sooner. */
export const postgresRowSecurity: Setup = {
  name: 'PostgreSQL with row security',
  open: async () => openDeployment(await newOrdinaryDatabase(), serveInProcess, { rowSecurity: true }),
}
