/** What this node shares with others, chosen by the settings. */
import type { Cluster } from '../cluster/cluster.ts'
import { type MemoryCounters, singleNode } from '../cluster/memory-counters.ts'
import type { Settings } from '../config.ts'
import type { Logger } from '../observability/log.ts'
import type { Store } from '../store/store.ts'

/** Shared by the threads of a process. */
type ThreadCluster = Cluster & { readonly counters: MemoryCounters }

/**
 * Rejects never because of Redis: the service runs without it too. `threads`: what this worker shares with the
 * others of its process, which count together where Redis is away.
 */
export async function openCluster(
  settings: Settings,
  logger: Logger,
  threads?: ThreadCluster,
): Promise<Cluster> {
  const url = settings['redis.url']
  if (url === undefined) return threads ?? singleNode()
  const { redisCluster } = await import('../cluster/redis-cluster.ts')
  const nodes = await redisCluster({
    url,
    prefix: settings['redis.prefix'],
    timeoutMs: settings['redis.timeout'],
    onLost: reason =>
      logger.warn({ reason }, 'Redis is away: limits are counted by this node alone, events are polled for'),
    onBack: () => logger.info('Redis is back: limits and events are shared again'),
    memory: threads?.counters,
  })
  return threads === undefined ? nodes : both(threads, nodes)
}

/** The threads are woken without the way by Redis, which wakes the other nodes. */
function both(threads: ThreadCluster, nodes: Cluster): Cluster {
  return {
    counters: nodes.counters,
    wake() {
      threads.wake()
      nodes.wake()
    },
    onWake(listener) {
      const ends = [threads.onWake(listener), nodes.onWake(listener)]
      return () => {
        for (const end of ends) end()
      }
    },
    trouble: () => nodes.trouble(),
    ...(nodes.counts && { counts: nodes.counts }),
    close: async () => {
      await Promise.all([threads.close(), nodes.close()])
    },
  }
}

/** What is committed here is told to the others, and what they tell is looked for. */
export function followOthers(store: Store, cluster: Cluster): void {
  store.changes.onCommit(from => {
    if (from === 'here') cluster.wake()
  })
  const look = async () => store.changes.look()
  // A database that is away tells nothing; the next look, or the next request, finds what came meanwhile.
  cluster.onWake(() => void look().catch(() => undefined))
}
