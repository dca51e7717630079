/** The metrics of a service, and the record of each request. */

import type { Events } from '../../../api/events/events.ts'
import { type CacheCounts, cacheCounts } from '../../../base/cache.ts'
import type { RunCounts } from '../../../delivery/runs/results.ts'
import type { RunnerState } from '../../../delivery/runs/runner.ts'
import type { SenderCounts, SenderState } from '../../../delivery/webhooks/sender.ts'
import type { Cluster, ClusterCounts } from '../../../engine/cluster/cluster.ts'
import type { RateLimits } from '../../../engine/cluster/rate-limits.ts'
import type {
  LogCounts,
  ReplicaCounts,
  SlowReadCounts,
  Store,
  StoreCounts,
} from '../../../engine/store/store.ts'
import type { Exchange, HttpServer } from '../../http/http.ts'
import type { AnsweredRequest, Log } from '../../observability/log.ts'
import type { Metric, Metrics } from '../../observability/metrics.ts'
import type { RunningReactions } from '../background/reactions.ts'
import type { RunningSender } from '../background/webhook-sender.ts'
import type { LostUpdates } from './lost-updates.ts'

/** Counts and logs an answered request. */
export function requestRecorder(log: Log, metrics: Metrics, routeOf: (path: string) => string) {
  return (exchange: Exchange, status: number, bytes: number | undefined) => {
    const milliseconds = performance.now() - exchange.start
    const route = routeOf(exchange.path)
    metrics.observe(exchange.method, route, status, milliseconds / 1000)
    log.access(shownRequest(exchange, route), status, milliseconds, bytes)
  }
}

/** A parameter in the path of a model's own route may be a secret, e.g. of a calendar feed: the log has the declared path. */
function shownRequest(exchange: Exchange, route: string): AnsweredRequest {
  if (!route.includes('/:')) return exchange
  const { method, requestId, userId } = exchange
  return { method, path: route, requestId, userId }
}

type Read = () => number

function counter(name: string, help: string, read: Read): Metric {
  return { name, help, kind: 'counter', read }
}

function gauge(name: string, help: string, read: Read): Metric {
  return { name, help, kind: 'gauge', read }
}

export function requestMetrics(limits: RateLimits, keys: { hits: number; misses: number }): Metric[] {
  return [
    counter(
      'portico_rate_limited_total',
      'Requests that were refused because a rate limit was used up.',
      () => limits.counts.refused,
    ),
    counter(
      'portico_credential_cache_hits_total',
      'Credentials that were found in the cache.',
      () => keys.hits,
    ),
    counter(
      'portico_credential_cache_misses_total',
      'Credentials that were looked up in the database.',
      () => keys.misses,
    ),
  ]
}

export function httpMetrics(http: HttpServer): Metric[] {
  const { shedder, connections, slowClients } = http.admission
  return [
    gauge('portico_http_requests_in_flight', 'Requests that are being answered.', () => http.running()),
    gauge(
      'portico_overloaded',
      'Whether requests are refused because they cannot be answered in time: 1 or 0.',
      () => (shedder.isOverloaded ? 1 : 0),
    ),
    counter(
      'portico_shed_requests_total',
      'Requests that were refused because too many came. No other metric counts them.',
      () => shedder.counts.refused,
    ),
    gauge('portico_queued_requests', 'Requests in the request queue.', () => shedder.length),
    gauge('portico_connections', 'Open connections.', () => connections.open),
    counter(
      'portico_refused_connections_total',
      'Connections beyond `maxConnections` that were closed, and requests on them that were refused.',
      () => connections.counts.refused,
    ),
    gauge(
      'portico_unread_bytes',
      'Bytes of answers that slow clients have not read.',
      () => slowClients.bytes,
    ),
    counter(
      'portico_slow_clients_disconnected_total',
      'Connections that were closed because the client did not read its answer.',
      () => slowClients.counts.disconnected,
    ),
  ]
}

export function eventMetrics({ hub }: Pick<Events, 'hub'>): Metric[] {
  return [
    gauge(
      'portico_event_listeners',
      'Open GraphQL subscriptions, event streams and long polls.',
      () => hub.size,
    ),
  ]
}

export function webhookMetrics({ sender }: Pick<RunningSender, 'sender'>): Metric[] {
  const attempts = (help: string, result: keyof SenderCounts) =>
    counter(`portico_webhook_${result}_total`, help, () => sender.counts[result])
  const state = (name: string, help: string, read: (state: SenderState) => number) =>
    gauge(`portico_webhook_${name}`, help, () => read(sender.state))
  return [
    attempts('Webhook deliveries that were answered with 2xx.', 'succeeded'),
    attempts('Attempts to deliver a webhook that failed and will be retried.', 'retried'),
    attempts('Webhook deliveries that were given up.', 'failed'),
    attempts(
      'Webhook deliveries that were not sent because the owner may no longer see the event.',
      'dropped',
    ),
    counter(
      'portico_webhooks_paused_total',
      'Webhooks that were paused because their endpoint is gone or failed for too long.',
      () => sender.counts.paused,
    ),
    state('sender', 'Whether this process sends webhooks: 1 or 0. One of all nodes does.', ({ isSending }) =>
      isSending ? 1 : 0,
    ),
    state('queue', 'Webhook deliveries that wait or are being sent.', ({ queued }) => queued),
    state('in_flight', 'Webhook deliveries that are being sent.', ({ inFlight }) => inFlight),
    state('lag_events', 'Events that have not become webhook deliveries yet.', ({ lagEvents }) => lagEvents),
    state(
      'lag_seconds',
      'For how many seconds there have been such events without interruption.',
      ({ lagSeconds }) => lagSeconds,
    ),
    state('stopped', 'Webhooks that are paused or not enabled.', ({ stopped }) => stopped),
  ]
}

export function reactionMetrics({ runner }: Pick<RunningReactions, 'runner'>): Metric[] {
  const runs = (help: string, result: keyof RunCounts) =>
    counter(`portico_reaction_runs_${result}_total`, help, () => runner.counts[result])
  const state = (name: string, help: string, read: (state: RunnerState) => number) =>
    gauge(`portico_reaction_${name}`, help, () => read(runner.state))
  return [
    runs('Runs of reactions and jobs that succeeded.', 'succeeded'),
    runs('Runs of reactions and jobs that failed and will be retried.', 'retried'),
    runs('Runs of reactions and jobs that were given up: dead letters.', 'failed'),
    runs('Runs of reactions and jobs that an operator has skipped.', 'skipped'),
    state(
      'runner',
      'Whether this process runs reactions and jobs: 1 or 0. One of all nodes does.',
      ({ isRunning }) => (isRunning ? 1 : 0),
    ),
    state('runs_in_flight', 'Reactions and jobs that are running.', ({ inFlight }) => inFlight),
    state(
      'waiting_events',
      'Events that wait for a retry of their reaction, or for an earlier event of their item.',
      ({ waiting }) => waiting,
    ),
    state('lag_events', 'Events that the slowest reaction has yet to process.', ({ lagEvents }) => lagEvents),
    state(
      'lag_seconds',
      'For how many seconds there have been such events without interruption.',
      ({ lagSeconds }) => lagSeconds,
    ),
  ]
}

export function lostUpdateMetric(lostUpdates: LostUpdates): Metric {
  return counter(
    'portico_lost_updates_total',
    'Changes by reactions, jobs, routes and programs that replaced what others had changed since it was read.',
    () => lostUpdates.count,
  )
}

export function storeMetrics(store: Store): Metric[] {
  const count = (key: keyof StoreCounts) => () => store.counts()[key]
  return [
    counter('portico_commits_total', 'Commits to the database.', count('commits')),
    counter(
      'portico_committed_writes_total',
      'Writes in these commits. Writes that arrive together share a commit.',
      count('writes'),
    ),
    counter(
      'portico_cascaded_items_total',
      'Items that were deleted, or lost a reference, because another item was deleted.',
      count('cascaded'),
    ),
    counter(
      'portico_answer_cache_hits_total',
      'Reads that were answered from the cache.',
      count('answerHits'),
    ),
    counter('portico_answer_cache_misses_total', 'Reads that queried the database.', count('answerMisses')),
    counter(
      'portico_failed_checkpoints_total',
      'Times that SQLite could not copy its log into the database file. While it cannot, the log grows.',
      count('failedCheckpoints'),
    ),
    ...logMetrics(store),
  ]
}

function logMetrics({ changes }: Store): Metric[] {
  const count = (key: keyof LogCounts) => () => changes.counts()[key]
  return [
    gauge(
      'portico_event_log_oldest_id',
      'The id of the oldest event in the log, at the last check for events to prune; 0 if the log is empty.',
      count('oldest'),
    ),
    gauge('portico_event_log_newest_id', 'The id of the newest event, at the same check.', count('newest')),
    gauge(
      'portico_event_log_bytes',
      'The estimated size of the event log, at the same check.',
      count('bytes'),
    ),
    counter('portico_event_log_pruned_total', 'Events that this process has pruned.', count('pruned')),
  ]
}

/** The metrics of the caches in memory, by their names. */
export function cacheMetrics(): string {
  const counts = [...cacheCounts()].toSorted(([a], [b]) => a.localeCompare(b))
  const metric = (name: string, kind: Metric['kind'], help: string, key: keyof CacheCounts): string => {
    const fullName = `portico_cache_${name}`
    const lines = counts.map(([cache, count]) => `${fullName}{cache="${cache}"} ${count[key]}`)
    return [`# HELP ${fullName} ${help}`, `# TYPE ${fullName} ${kind}`, ...lines, ''].join('\n')
  }
  return [
    metric('hits_total', 'counter', 'Values that were found in a cache.', 'hits'),
    metric('misses_total', 'counter', 'Values that were not found in a cache.', 'misses'),
    metric('entries', 'gauge', 'Values in a cache.', 'entries'),
    metric(
      'weight',
      'gauge',
      'The size of a cache: in bytes for answers and lists, in tokens for documents, in characters for introspections, otherwise in entries.',
      'weight',
    ),
  ].join('')
}

/** None for a store without reader processes. */
export function slowReadMetrics({ slowReads }: Store): Metric[] {
  if (slowReads === undefined) return []
  const count = (key: keyof SlowReadCounts) => () => slowReads()[key]
  return [
    gauge('portico_reader_processes', 'Reader processes for slow reads on SQLite.', count('processes')),
    gauge('portico_slow_reads_running', 'Slow reads that run in a reader process.', count('running')),
    gauge('portico_slow_reads_waiting', 'Slow reads that wait for a reader process.', count('waiting')),
    counter('portico_slow_reads_total', 'Slow reads that were answered.', count('done')),
    counter(
      'portico_slow_reads_timed_out_total',
      'Slow reads that took longer than `databaseTimeout`, waiting included.',
      count('timedOut'),
    ),
    counter(
      'portico_slow_reads_refused_total',
      'Slow reads that were refused because too many waited.',
      count('refused'),
    ),
    counter(
      'portico_reader_processes_killed_total',
      'Reader processes that were killed because their read took too long.',
      count('killed'),
    ),
  ]
}

/** None for a store without replicas. */
export function replicaMetrics({ replicas }: Store): Metric[] {
  if (replicas === undefined) return []
  const count = (key: keyof ReplicaCounts) => () => replicas()[key]
  return [
    gauge('portico_replicas_up', 'Read replicas that answer and follow the primary.', count('up')),
    gauge(
      'portico_replica_lag_bytes',
      'How far the slowest replica is behind the primary, in bytes of the log.',
      count('lag'),
    ),
    counter('portico_replica_reads_total', 'Reads that a replica answered.', count('answers')),
    counter(
      'portico_replica_fallbacks_total',
      'Reads that the primary answered because the replica that was tried first was behind, ahead or unavailable.',
      count('unfit'),
    ),
  ]
}

/** None for a single node. */
export function clusterMetrics(cluster: Cluster): Metric[] {
  const { counts } = cluster
  if (!counts) return []
  const count = (key: keyof ClusterCounts) => () => counts()[key]
  return [
    gauge('portico_redis_up', 'Whether Redis answers: 1, or 0 while this node works without it.', () =>
      cluster.trouble() === undefined ? 1 : 0,
    ),
    counter(
      'portico_redis_disconnections_total',
      'How often the connection to Redis was lost.',
      count('disconnections'),
    ),
    counter(
      'portico_redis_round_trips_total',
      'Batches of rate-limit checks that were sent to Redis.',
      count('roundTrips'),
    ),
    counter(
      'portico_rate_limit_local_checks_total',
      'Rate-limit checks that this node made without Redis.',
      count('localChecks'),
    ),
    counter(
      'portico_redis_notifications_sent_total',
      'Notifications of commits that were sent to other nodes.',
      count('notificationsSent'),
    ),
    counter(
      'portico_redis_notifications_received_total',
      'Notifications of commits that were received from other nodes.',
      count('notificationsReceived'),
    ),
  ]
}
