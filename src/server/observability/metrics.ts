/** Metrics for Prometheus. Requests are counted by hand; prom-client is loaded at the first `/metrics`. */
import type { Registry } from 'prom-client'

/** Upper bounds in seconds. */
const bucketBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Series {
  readonly labels: { readonly method: string; readonly route: string; readonly status: string }
  /** By bucket, not cumulative; the last bucket has no bound. */
  readonly counts: Float64Array
  sum: number
}

/** A number that another module keeps, read at each scrape. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly kind: 'counter' | 'gauge'
  read(): number
}

export interface Metrics {
  /** `route` must come from a bounded set. */
  observe(method: string, route: string, status: number, seconds: number): void
  /** The text of `/metrics`. */
  text(): Promise<string>
}

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

function bucketOf(seconds: number): number {
  let bucket = 0
  while (bucket < bucketBounds.length && seconds > (bucketBounds[bucket] ?? 0)) bucket++
  return bucket
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const existing = map.get(key)
  if (existing !== undefined) return existing
  const created = create()
  map.set(key, created)
  return created
}

/** `sections`: text of other modules in the same format. */
export function createMetrics(
  metrics: () => readonly Metric[] = () => [],
  sections: () => string = () => '',
): Metrics {
  const byRoute = new Map<string, Map<string, Series[]>>()
  let registry: Promise<Registry> | undefined

  const seriesOf = (method: string, route: string, status: number): Series => {
    const methodLabel = knownMethods.has(method) ? method : 'other'
    const byStatus = getOrCreate(
      getOrCreate(byRoute, route, () => new Map()),
      methodLabel,
      () => [],
    )
    const group = Math.floor(status / 100)
    byStatus[group] ??= {
      labels: { method: methodLabel, route, status: `${group}xx` },
      counts: new Float64Array(bucketBounds.length + 1),
      sum: 0,
    }
    return byStatus[group]
  }

  return {
    observe(method, route, status, seconds) {
      const series = seriesOf(method, route, status)
      const bucket = bucketOf(seconds)
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
      series.sum += seconds
    },
    async text() {
      registry ??= createRegistry(metrics())
      const registered = await (await registry).metrics()
      return `${histogram(byRoute)}\n${sections()}${registered}`
    },
  }
}

const histogramName = 'portico_http_request_duration_seconds'

function labelText(labels: Series['labels'], extraLabel = ''): string {
  const escaped = labels.route.replace(/[\\"]/g, '\\$&')
  return `{method="${labels.method}",route="${escaped}",status="${labels.status}"${extraLabel}}`
}

function histogram(byRoute: ReadonlyMap<string, ReadonlyMap<string, readonly Series[]>>): string {
  const lines = [
    `# HELP ${histogramName} Time from a request's headers to its answer.`,
    `# TYPE ${histogramName} histogram`,
  ]
  for (const byMethod of byRoute.values()) {
    for (const byStatus of byMethod.values()) {
      for (const series of byStatus) if (series) lines.push(...seriesLines(series))
    }
  }
  return `${lines.join('\n')}\n`
}

function seriesLines({ labels, counts, sum }: Series): string[] {
  let total = 0
  const buckets = [...counts].map((count, bucket) => {
    total += count
    return `${histogramName}_bucket${labelText(labels, `,le="${bucketBounds[bucket] ?? '+Inf'}"`)} ${total}`
  })
  return [
    ...buckets,
    `${histogramName}_sum${labelText(labels)} ${sum}`,
    `${histogramName}_count${labelText(labels)} ${total}`,
  ]
}

async function createRegistry(metrics: readonly Metric[]): Promise<Registry> {
  const { collectDefaultMetrics, Counter, Gauge, Registry } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const { name, help, kind, read } of metrics) {
    if (kind === 'gauge') {
      new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          this.set(read())
        },
      })
    } else {
      new Counter({
        name,
        help,
        registers: [registry],
        collect() {
          this.reset()
          this.inc(read())
        },
      })
    }
  }
  return registry
}

const apiPrefix = '/api/v1/'

const oauthRoutes = [
  'authorize',
  'token',
  'par',
  'device',
  'revoke',
  'introspect',
  'userinfo',
  'jwks',
  'register',
  'logout',
]
  .map(name => `/oauth/${name}`)
  .concat(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'])
  .concat('/.well-known/oauth-protected-resource')

/** The routes of paths that contain ids, and of pages, which have many paths. */
function otherRouteOf(path: string): string {
  if (path.startsWith('/oauth/authorize/')) return '/oauth/authorize/{uid}'
  if (path.startsWith('/oauth/interaction/')) return '/oauth/interaction/{uid}'
  if (path.startsWith('/oauth/device/')) return '/oauth/device'
  if (path.startsWith('/docs/')) return '/docs'
  return path === '/account' || path.startsWith('/account/') ? '/account' : 'other'
}

interface CollectionLabels {
  readonly list: string
  readonly item: string
  readonly within: string
}

/** The paths of the model's own routes. */
interface OwnRoutes {
  /** The label of a path; undefined for other paths. */
  labelOf(path: string): string | undefined
}

/** Returns a function that finds the route of a path. The number of routes does not grow with the requests of clients. */
export function routeLabels(
  collections: ReadonlyMap<string, unknown>,
  own?: OwnRoutes,
): (path: string) => string {
  const byName = new Map<string, CollectionLabels>()
  for (const name of collections.keys()) {
    const list = apiPrefix + name
    byName.set(name, { list, item: `${list}/{id}`, within: `${list}/{id}/{subcollection}` })
  }
  const fixedRoutes = new Set([
    '/healthz',
    '/readyz',
    '/metrics',
    '/',
    '/docs',
    '/graphql',
    `${apiPrefix}openapi.json`,
    `${apiPrefix}me`,
    `${apiPrefix}batch`,
    `${apiPrefix}events`,
    ...oauthRoutes,
  ])
  return path => {
    const slash = path.startsWith(apiPrefix) ? path.indexOf('/', apiPrefix.length) : -1
    const labels = byName.get(path.slice(apiPrefix.length, slash === -1 ? undefined : slash))
    if (!labels || !path.startsWith(apiPrefix)) {
      return fixedRoutes.has(path) ? path : (own?.labelOf(path) ?? otherRouteOf(path))
    }
    if (slash === -1) return labels.list
    return path.indexOf('/', slash + 1) === -1 ? labels.item : labels.within
  }
}
