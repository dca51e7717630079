/** The content of `/metrics`. */
import type { Cluster } from '../../../engine/cluster/cluster.ts'
import type { RateLimits } from '../../../engine/cluster/rate-limits.ts'
import type { Store } from '../../../engine/store/store.ts'
import type { HttpServer } from '../../http/http.ts'
import { createMetrics, type Metrics } from '../../observability/metrics.ts'
import type { Transports } from '../transports/transports.ts'
import {
  cacheMetrics,
  clusterMetrics,
  eventMetrics,
  httpMetrics,
  lostUpdateMetric,
  reactionMetrics,
  replicaMetrics,
  requestMetrics,
  slowReadMetrics,
  storeMetrics,
  webhookMetrics,
} from './metrics.ts'

interface MeasuredParts {
  readonly store: Store
  readonly cluster: Cluster
  readonly limits: RateLimits
  /** The hits and misses of the cache of API keys. */
  readonly keys: { readonly hits: number; readonly misses: number }
  readonly transports: Transports
  /** Called at each scrape, since the server is opened after the metrics. */
  readonly http: () => HttpServer
}

export function serviceMetrics({ store, cluster, limits, keys, transports, http }: MeasuredParts): Metrics {
  const { graphql, events, webhooks, reactions, lostUpdates } = transports
  return createMetrics(
    () => [
      ...requestMetrics(limits, keys),
      ...httpMetrics(http()),
      ...storeMetrics(store),
      ...slowReadMetrics(store),
      ...replicaMetrics(store),
      ...clusterMetrics(cluster),
      ...eventMetrics(events),
      ...webhookMetrics(webhooks),
      ...reactionMetrics(reactions),
      lostUpdateMetric(lostUpdates),
    ],
    () => `${graphql.metrics()}${cacheMetrics()}`,
  )
}
