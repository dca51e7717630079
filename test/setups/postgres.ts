/** PostgreSQL: with Redis, served by three processes; with row security, served by this process as well. */
import type { GivenSettings } from '../../src/config.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { ordinaryDatabase } from '../databases/ordinary.ts'
import { newDatabase, query } from '../databases/postgres.ts'
import { RedisServer } from '../databases/redis.ts'
import { serveHere, serveNodes } from './serve.ts'
import type { Place, Setup } from './setup.ts'

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

interface Given {
  readonly url: string
  /** The connection of a role that sees every row. */
  readonly admin: string
  drop(): Promise<void>
}

function openPlace({ url, admin, drop }: Given, serve: typeof serveHere, ownSettings: GivenSettings): Place {
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

async function openNodes(database: Given, ownSettings: GivenSettings = {}): Promise<Place> {
  const redis = await RedisServer.start()
  const place = openPlace(database, serveNodes, { redis: { url: redis.url }, ...ownSettings })
  return {
    ...place,
    async close() {
      await Promise.all([place.close(), redis.remove()])
    },
  }
}

/** Tests the rules in Portico's SQL on a single node, without row policies that could hide their errors. */
export const postgres: Setup = {
  name: 'PostgreSQL',
  async open() {
    const { url, drop } = await newDatabase()
    return openPlace({ url, admin: url, drop }, serveHere, {})
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
export const lockedNodes: Setup = {
  name: 'PostgreSQL with row security and Redis, three nodes',
  open: async () => openNodes(await ordinaryDatabase(), { rowSecurity: true }),
}

/** For tests of rows alone one node is enough, and starts sooner. */
export const locked: Setup = {
  name: 'PostgreSQL with row security',
  open: async () => openPlace(await ordinaryDatabase(), serveHere, { rowSecurity: true }),
}
