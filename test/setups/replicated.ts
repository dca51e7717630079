/** A primary and a hot standby, served by three processes without Redis. */
import { openPostgres } from '../../src/engine/store/postgres/postgres.ts'
import { startStandbys } from './databases/replicated.ts'
import { dump, secretKey } from './postgres.ts'
import { serveNodes } from './serve.ts'
import type { Setup } from './setup.ts'

const connectionsPerNode = 4

export const replicatedNodes: Setup = {
  name: 'PostgreSQL with a read replica, three nodes',
  async open() {
    const servers = await startStandbys(1)
    const { url, standbys } = await servers.newDatabase()
    const settings = {
      database: url,
      databaseReplicas: standbys,
      databaseConnections: connectionsPerNode,
      secretKeys: [secretKey],
    }
    return {
      database: url,
      settings,
      environment: { DATABASE_URL: url, PORTICO_SECRET_KEY: secretKey },
      create: async () => undefined,
      openStore: model => openPostgres(model, { url, connections: connectionsPerNode }),
      dump: () => dump(url),
      serve: (declaration, overrides) => serveNodes(declaration, { ...settings, ...overrides }),
      close: () => servers.close(),
    }
  },
}
