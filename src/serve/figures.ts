/** What is counted of a service, and what is noted of each request. */
import type { Limits } from '../cluster/limits.ts'
import type { Exchange, HttpServer } from '../http.ts'
import type { Log } from '../log.ts'
import type { Figure, Metrics } from '../metrics.ts'
import type { ReplicaCounts, SlowReadCounts, Store, StoreCounts } from '../store/store.ts'

export function recorder(log: Log, metrics: Metrics, routeOf: (path: string) => string) {
  return (exchange: Exchange, status: number, bytes: number | undefined) => {
    const milliseconds = performance.now() - exchange.start
    metrics.observe(exchange.method, routeOf(exchange.path), status, milliseconds / 1000)
    log.access(exchange, status, milliseconds, bytes)
  }
}

export function figures(limits: Limits, keys: { hits: number; misses: number }, http: HttpServer): Figure[] {
  return [
    {
      name: 'portico_rate_limited_total',
      help: 'Requests that were refused because a budget was used up.',
      kind: 'counter',
      read: () => limits.counts.refused,
    },
    {
      name: 'portico_credential_cache_hits_total',
      help: 'Credentials that were known without asking the database.',
      kind: 'counter',
      read: () => keys.hits,
    },
    {
      name: 'portico_credential_cache_misses_total',
      help: 'Credentials for which the database was asked.',
      kind: 'counter',
      read: () => keys.misses,
    },
    {
      name: 'portico_http_requests_in_flight',
      help: 'Requests that are being answered.',
      kind: 'gauge',
      read: () => http.running(),
    },
  ]
}

export function storeFigures(store: Store): Figure[] {
  const counter = (name: string, help: string, count: keyof StoreCounts): Figure => {
    return { name: `portico_${name}_total`, help, kind: 'counter', read: () => store.counts()[count] }
  }
  return [
    counter('commits', 'Commits to the database.', 'commits'),
    counter('committed_writes', 'Writes in these commits: several that arrive together share one.', 'writes'),
    counter('cascaded_items', 'Items that went, or lost a reference, with a deleted one.', 'cascaded'),
    counter('answer_cache_hits', 'Reads that were answered from memory.', 'answerHits'),
    counter('answer_cache_misses', 'Reads for which the database was asked.', 'answerMisses'),
  ]
}

/** None for a store without reader processes. */
export function slowReadFigures({ slowReads }: Store): Figure[] {
  if (slowReads === undefined) return []
  const figure = (name: string, kind: Figure['kind'], help: string, count: keyof SlowReadCounts): Figure => {
    return { name: `portico_${name}`, help, kind, read: () => slowReads()[count] }
  }
  return [
    figure('reader_processes', 'gauge', 'Processes that read SQLite beside the event loop.', 'processes'),
    figure('slow_reads_running', 'gauge', 'Slow reads that such a process runs.', 'running'),
    figure('slow_reads_waiting', 'gauge', 'Slow reads that wait for such a process.', 'waiting'),
    figure('slow_reads_total', 'counter', 'Slow reads that were answered.', 'done'),
    figure(
      'slow_reads_timed_out_total',
      'counter',
      'Slow reads that took longer than `databaseTimeout`, waiting included.',
      'timedOut',
    ),
    figure(
      'slow_reads_refused_total',
      'counter',
      'Slow reads that were refused because too many waited.',
      'refused',
    ),
    figure(
      'reader_processes_killed_total',
      'counter',
      'Reader processes that were ended because their read took too long.',
      'killed',
    ),
  ]
}

/** None for a store without replicas. */
export function replicaFigures({ replicas }: Store): Figure[] {
  if (replicas === undefined) return []
  const figure = (name: string, kind: Figure['kind'], help: string, count: keyof ReplicaCounts): Figure => {
    return { name: `portico_replica${name}`, help, kind, read: () => replicas()[count] }
  }
  return [
    figure('s_up', 'gauge', 'Read replicas that answer and follow the primary.', 'up'),
    figure('_lag_bytes', 'gauge', 'By how much of its log the slowest of them is behind the primary.', 'lag'),
    figure('_reads_total', 'counter', 'Reads that a replica answered.', 'answers'),
    figure(
      '_unfit_total',
      'counter',
      'Reads for which a replica was asked, and then the primary, as it was behind, ahead or away.',
      'unfit',
    ),
  ]
}
