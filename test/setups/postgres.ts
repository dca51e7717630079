/** PostgreSQL: with Redis, served by three processes; with row security, served by this process as well. */

import { openPostgres } from '../../src/engine/store/postgres/postgres.ts'
import { checkModel } from '../../src/model/check/check.ts'
import type { GivenSettings } from '../../src/server/config/config.ts'
import { type PlannedDatabase, plannedDatabase, plannedOrdinaryDatabase } from './databases/copied.ts'
import { query } from './databases/postgres.ts'
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

function openDeployment(
  { url, admin, create, drop }: PlannedDatabase,
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
    create: () => create(),
    async openStore(model) {
      await create(model)
      return openPostgres(model, { url, connections: connectionsPerNode, rowSecurity })
    },
    async dump() {
      await create()
      return dump(admin)
    },
    async serve(declaration, overrides) {
      const all = { ...settings, ...overrides }
      await create(all.autoMigrate === true ? checkModel(declaration) : undefined)
      return serve(declaration, all)
    },
    close: drop,
  }
}

async function openNodes(database: PlannedDatabase, ownSettings: GivenSettings = {}): Promise<Deployment> {
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
    return openDeployment(await plannedDatabase(), serveInProcess, {})
  },
}

export const postgresNodes: Setup = {
  name: 'PostgreSQL and Redis, three nodes',
  async open() {
    return openNodes(await plannedDatabase())
  },
}

/** The same with row security. */
export const rowSecurityNodes: Setup = {
  name: 'PostgreSQL with row security and Redis, three nodes',
  open: async () => openNodes(await plannedOrdinaryDatabase(), { rowSecurity: true }),
}

/** For tests of rows alone one node is enough, and starts sooner. */
export const postgresRowSecurity: Setup = {
  name: 'PostgreSQL with row security',
  open: async () => openDeployment(await plannedOrdinaryDatabase(), serveInProcess, { rowSecurity: true }),
}
