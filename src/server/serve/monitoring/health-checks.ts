/** Health checks and metrics. They need no credential and use no budget. */

import type { Awaitable } from '../../../base/awaitable.ts'
import type { Reply } from '../../../base/call.ts'
import { ApiError, stoppingRefusal, temporaryRefusal } from '../../../base/errors.ts'
import type { Cluster } from '../../../engine/cluster/cluster.ts'
import type { Store } from '../../../engine/store/store.ts'
import type { Exchange } from '../../http/http.ts'
import type { State } from '../shutdown.ts'
import { Readiness } from './readiness.ts'

export type HealthChecks = ReadonlyMap<string, (exchange: Exchange) => Awaitable<Reply>>

function textReply(type: string, body: string): Reply {
  return { status: 200, headers: ['Content-Type', type, 'Cache-Control', 'no-store'], body }
}

const json = 'application/json'
/** The query with which monitors that see only the status learn of a degraded node. Load balancers must keep it. */
const failDegraded = 'degraded=503'

interface HealthCheckParts {
  readonly store: Store
  readonly cluster: Cluster
  readonly metricsText: () => Promise<string>
  readonly state: Readonly<State>
}

export function healthChecks({ store, cluster, metricsText, state }: HealthCheckParts): HealthChecks {
  const readiness = new Readiness(async () => store.check())
  const ready = async ({ query }: Exchange) => {
    if (state.closing) throw stoppingRefusal()
    requireStarted(state)
    await readiness.require()
    const troubles = [store.trouble(), cluster.trouble(), replicaTrouble(store)].filter(
      trouble => trouble !== undefined,
    )
    if (troubles.length === 0) return textReply(json, '{"status":"ok"}')
    if (query === failDegraded) throw temporaryRefusal(troubles.join(' '))
    return textReply(json, JSON.stringify({ status: 'degraded', reason: troubles.join(' ') }))
  }
  const handlers = {
    '/healthz': () => textReply(json, '{"status":"ok"}'),
    '/readyz': ready,
    '/metrics': async () => textReply('text/plain; version=0.0.4; charset=utf-8', await metricsText()),
  }
  return new Map(Object.entries(handlers).map(([path, handler]) => [path, getOnly(handler)]))
}

/** Throws UNAVAILABLE until the first administrator exists: a correct credential would be refused before that. */
export function requireStarted({ starting }: Readonly<State>): void {
  if (starting) throw temporaryRefusal('The service is starting.')
}

function replicaTrouble({ replicas }: Store): string | undefined {
  const counts = replicas?.()
  if (counts === undefined || counts.up === counts.known) return undefined
  return `${counts.known - counts.up} of ${counts.known} read replicas cannot be used: the primary answers instead.`
}

function getOnly(handler: (exchange: Exchange) => Awaitable<Reply>): typeof handler {
  const headers = { Allow: 'GET, HEAD' }
  return exchange => {
    if (exchange.method === 'GET' || exchange.method === 'HEAD') return handler(exchange)
    throw new ApiError('METHOD_NOT_ALLOWED', undefined, { headers })
  }
}
