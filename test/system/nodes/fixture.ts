/** Several processes with a Redis server that a test may break, and the key of an administrator. */
import { generateKey } from '../../../src/identity/keys/key.ts'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { RedisServer } from '../../setups/databases/redis.ts'
import { type NodeCluster, startCluster } from './cluster.ts'

export interface NodesFixture {
  readonly cluster: NodeCluster
  readonly redis: RedisServer
  readonly key: string
}

/** The long Redis timeout keeps counts exact on a busy machine. */
export async function withNodesFixture(
  nodes: number,
  settings: GivenSettings,
  use: (fixture: NodesFixture) => Promise<void>,
): Promise<void> {
  const redis = await RedisServer.start()
  const key = generateKey()
  try {
    const cluster = await startCluster({
      nodes,
      settings: { redis: { url: redis.url, timeout: '5 s' }, ...settings },
      environment: { PORTICO_ADMIN_API_KEY: key },
    })
    try {
      await use({ cluster, redis, key })
    } finally {
      await cluster.close()
    }
  } finally {
    redis.resume()
    await redis.remove()
  }
}

export const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index))
