/** The databases, and Redis, on which the workers of a process run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { newDatabase } from '../../setups/databases/postgres.ts'
import { RedisServer } from '../../setups/databases/redis.ts'
import { secretKey } from '../../setups/postgres.ts'

export interface Backend {
  readonly name: string
  open(): Promise<{ readonly settings: GivenSettings; close(): Promise<void> }>
}

export const sqlite: Backend = {
  name: 'SQLite',
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'portico-workers-'))
    return {
      settings: { database: join(folder, 'test.db') },
      close: async () => rmSync(folder, { recursive: true, force: true }),
    }
  },
}

const postgres: Backend = {
  name: 'PostgreSQL',
  async open() {
    const { url, drop } = await newDatabase()
    return { settings: { database: url, databaseConnections: 4, secretKeys: [secretKey] }, close: drop }
  },
}

/** The same with Redis. The long timeout keeps counts exact on a busy machine. */
function withRedis({ name, open }: Backend): Backend {
  return {
    name: `${name} and Redis`,
    async open() {
      const [backend, redis] = await Promise.all([open(), RedisServer.start()])
      return {
        settings: { ...backend.settings, redis: { url: redis.url, timeout: '5 s' } },
        async close() {
          await Promise.all([backend.close(), redis.remove()])
        },
      }
    },
  }
}

export const backends: readonly Backend[] = [sqlite, postgres, withRedis(postgres)]
