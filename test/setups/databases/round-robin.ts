/** One store made of several nodes on one database and one Redis: requests are distributed over the nodes. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Cluster } from '../../../src/engine/cluster/cluster.ts'
import { redisCluster } from '../../../src/engine/cluster/redis-cluster.ts'
import type { EventLog, Store } from '../../../src/engine/store/store.ts'
import { followOthers } from '../../../src/server/serve/cluster.ts'
import { RedisServer } from './redis.ts'

/** One server per process. */
let redis: Promise<RedisServer> | undefined

process.once('beforeExit', async () => (await redis)?.remove())

async function joinCluster(prefix: string): Promise<Cluster> {
  redis ??= RedisServer.start()
  const { url } = await redis
  const onLost = (reason: string) => {
    throw new Error(`Redis is unreachable: ${reason}`)
  }
  return redisCluster({ url, prefix, timeoutMs: 10_000, onLost, onBack: () => {} })
}

interface Node {
  readonly store: Store
  readonly cluster: Cluster
}

/** Opens `count` nodes, each with its own cache. */
export async function openNodes(count: number, open: () => Promise<Store>): Promise<Store> {
  const prefix = `${randomBytes(8).toString('hex')}:`
  const nodes: Node[] = []
  while (nodes.length < count) {
    const store = await open()
    const cluster = await joinCluster(prefix)
    followOthers(store, cluster)
    nodes.push({ store, cluster })
  }
  return roundRobin(nodes)
}

function roundRobin(nodes: readonly Node[]): Store {
  let requests = 0
  /** The node for a request. Each gets two in a row, so that the second may use its cache. */
  const next = async (): Promise<Store> => {
    const { store } = nodes[Math.floor(requests++ / 2) % nodes.length] ?? assert.fail()
    await store.refresh()
    return store
  }
  const [{ store: first } = assert.fail('there are no nodes')] = nodes
  const changes: EventLog = {
    last: async () => (await next()).changes.last(),
    after: async (event, limit) => (await next()).changes.after(event, limit),
    bounds: async () => (await next()).changes.bounds(),
    hold: async (name, event) => (await next()).changes.hold(name, event),
    counts: () => first.changes.counts(),
    onCommit: listener => first.changes.onCommit(listener),
    poll: () => first.changes.poll(),
  }
  return {
    changes,
    records: first.records,
    read: async plan => (await next()).read(plan),
    composite: async plan => (await next()).composite(plan),
    write: async plan => (await next()).write(plan),
    transaction: async program => (await next()).transaction(program),
    refresh: () => first.refresh(),
    version: collection => first.version(collection),
    counts: () => first.counts(),
    ping: () => first.ping(),
    check: () => first.check(),
    trouble: () => first.trouble(),
    async close() {
      for (const { store, cluster } of nodes) {
        await cluster.close()
        await store.close()
      }
    },
  }
}
