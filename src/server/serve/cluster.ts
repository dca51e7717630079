/** Opens the cluster that the settings describe. */
import type { Cluster } from '../../engine/cluster/cluster.ts'
import { type MemoryCounters, singleNode } from '../../engine/cluster/memory-counters.ts'
import type { Store } from '../../engine/store/store.ts'
import type { Settings } from '../config/config.ts'
import type { Logger } from '../observability/log.ts'

/** The cluster of the threads of a process. */
type ThreadCluster = Cluster & { readonly counters: MemoryCounters }

/**
 * Never rejects because of Redis, since the service also runs without it. `threads`: the cluster of this process's workers,
 * which count together while Redis is unavailable.
 */
export async function openCluster(
  settings: Settings,
  logger: Logger,
  threads?: ThreadCluster,
): Promise<Cluster> {
  const url = settings['redis.url']
  if (url === undefined) return threads ?? singleNode()
  const { redisCluster } = await import('../../engine/cluster/redis-cluster.ts')
  const nodes = await redisCluster({
    url,
    prefix: settings['redis.prefix'],
    timeoutMs: settings['redis.timeout'],
    onLost: reason =>
      logger.warn({ reason }, 'Redis is unavailable: this node counts limits alone and polls for events'),
    onBack: () => logger.info('Redis is available again: limits and events are shared'),
    memory: threads?.counters,
  })
  return threads === undefined ? nodes : combine(threads, nodes)
}

/** Notifies the threads of this process directly, and other nodes by Redis. */
function combine(threads: ThreadCluster, nodes: Cluster): Cluster {
  return {
    counters: nodes.counters,
    wake() {
      threads.wake()
      nodes.wake()
    },
    onWake(listener) {
      const removals = [threads.onWake(listener), nodes.onWake(listener)]
      return () => {
        for (const remove of removals) remove()
      }
    },
    trouble: () => nodes.trouble(),
    ...(nodes.counts && { counts: nodes.counts }),
    close: async () => {
      await Promise.all([threads.close(), nodes.close()])
    },
  }
}

/** Notifies other nodes of commits here, and reads the log when they notify this one. */
export function followOthers(store: Store, cluster: Cluster): void {
  store.changes.onCommit(from => {
    if (from === 'here') cluster.wake()
  })
  const poll = async () => store.changes.poll()
  // If the database is unavailable, a later read of the log finds these commits.
  cluster.onWake(() => void poll().catch(() => undefined))
}
