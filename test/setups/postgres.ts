/** PostgreSQL and Redis, served by three processes. */
import { openPostgres } from '../../src/store/postgres.ts'
import { newDatabase, query } from '../databases/postgres.ts'
import { RedisServer } from '../databases/redis.ts'
import { serveNodes } from './serve.ts'
import type { Setup } from './setup.ts'

const CONNECTIONS = 4
/** All nodes need the same. */
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

export const postgresNodes: Setup = {
  name: 'PostgreSQL and Redis, three nodes',
  async open() {
    const [database, redis] = await Promise.all([newDatabase(), RedisServer.start()])
    const { url } = database
    const settings = {
      database: url,
      databaseConnections: CONNECTIONS,
      redis: { url: redis.url },
      secretKeys: [secretKey],
    }
    return {
      database: url,
      settings,
      environment: { DATABASE_URL: url, PORTICO_SECRET_KEY: secretKey },
      openStore: model => openPostgres(model, { url, connections: CONNECTIONS }),
      dump: () => dump(url),
      serve: (declaration, given) => serveNodes(declaration, { ...settings, ...given }),
      async close() {
        await Promise.all([database.drop(), redis.remove()])
      },
    }
  },
}
