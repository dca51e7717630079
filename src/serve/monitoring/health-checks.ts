/** Health checks and metrics. They take no credential and draw no budget. */
import type { Reply } from '../../call.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { ApiError, stoppingRefusal, temporaryRefusal } from '../../errors.ts'
import type { Exchange } from '../../http.ts'
import type { Awaitable } from '../../plan/answer.ts'
import type { Store } from '../../store/store.ts'
import type { State } from '../shutdown.ts'
import { Readiness } from './readiness.ts'

export type HealthChecks = ReadonlyMap<string, (exchange: Exchange) => Awaitable<Reply>>

function plainText(status: number, type: string, body: string): Reply {
  return { status, headers: ['Content-Type', type, 'Cache-Control', 'no-store'], body }
}

const json = 'application/json'

interface HealthCheckParts {
  readonly store: Store
  readonly cluster: Cluster
  readonly metricsText: () => Promise<string>
  readonly state: Readonly<State>
}

export function healthChecks({ store, cluster, metricsText, state }: HealthCheckParts): HealthChecks {
  const readiness = new Readiness(async () => store.check())
  const ready = async () => {
    if (state.closing) throw stoppingRefusal()
    requireStarted(state)
    await readiness.ask()
    const all = [store.trouble(), cluster.trouble(), replicaTrouble(store)]
    const troubles = all.filter(trouble => trouble !== undefined)
    if (troubles.length === 0) return plainText(200, json, '{"status":"ok"}')
    return plainText(200, json, JSON.stringify({ status: 'degraded', reason: troubles.join(' ') }))
  }
  const handlers = {
    '/healthz': () => plainText(200, json, '{"status":"ok"}'),
    '/readyz': ready,
    '/metrics': async () => plainText(200, 'text/plain; version=0.0.4; charset=utf-8', await metricsText()),
  }
  return new Map(Object.entries(handlers).map(([path, handler]) => [path, readOnly(handler)]))
}

/** Before the first administrator exists, a correct credential would be refused. */
export function requireStarted({ starting }: Readonly<State>): void {
  if (starting) throw temporaryRefusal('The service is starting.')
}

function replicaTrouble({ replicas }: Store): string | undefined {
  const counts = replicas?.()
  if (counts === undefined || counts.up === counts.known) return undefined
  return `Of ${counts.known} read replicas ${counts.known - counts.up} cannot be used: the primary answers instead.`
}

function readOnly(handler: () => Awaitable<Reply>): (exchange: Exchange) => Awaitable<Reply> {
  const headers = { Allow: 'GET, HEAD' }
  return ({ method }) => {
    if (method === 'GET' || method === 'HEAD') return handler()
    throw new ApiError('METHOD_NOT_ALLOWED', undefined, { headers })
  }
}
