/** Puts the parts together. The way of every request stands in `createPipeline`, in order. */
import type { Duplex } from 'node:stream'
import { accessTokenReader } from './auth/access-token.ts'
import { apiKeyReader } from './auth/api-key.ts'
import { type Authenticate, createAuthenticate } from './auth/authenticate.ts'
import { bootstrap, type FirstAdministrator } from './auth/bootstrap.ts'
import { newKeyHook } from './auth/new-key.ts'
import { createApps, newAppHook, newSecretHook } from './auth/server/apps.ts'
import type { Reply, TakenOver } from './call.ts'
import type { Cluster } from './cluster/cluster.ts'
import { budgetAddress, createLimits, type Limits } from './cluster/limits.ts'
import { isPostgres, publicName } from './config/database.ts'
import { type GivenSettings, readSettings, type Settings } from './config.ts'
import { ApiError } from './errors.ts'
import { assetsPath, errorReply as graphqlErrorReply, path as graphqlPath } from './graphql/http-reply.ts'
import { createHttp, type Exchange, type HttpServer } from './http.ts'
import { createLog, type Log } from './log.ts'
import { createMetrics, type Figure, type Metrics, routeLabels } from './metrics.ts'
import { checkModel } from './model/check.ts'
import type { Declaration } from './model/declaration.ts'
import type { Model } from './model/model.ts'
import { type Awaitable, type ItemAnswer, type ListAnswer, then } from './plan/answer.ts'
import { createGuard, type Guard } from './plan/guard.ts'
import type { Run } from './plan/run.ts'
import { anonymous, type Principal } from './principal.ts'
import { createRest, errorReply } from './rest/rest.ts'
import { createAttempts } from './serve/attempts.ts'
import { clusterFigures, openCluster } from './serve/cluster.ts'
import { type GraphqlFace, graphqlFace } from './serve/graphql.ts'
import { type OauthFace, oauthFace } from './serve/oauth.ts'
import { outsideReaders } from './serve/outside.ts'
import { openSqlite } from './store/sqlite.ts'
import type { Store, StoreCounts } from './store/store.ts'

export interface Service {
  /** Where it listens, without a trailing slash. */
  readonly url: string
  /** The administrator that this start has made, to be shown once; undefined on every later start. */
  readonly firstAdministrator: FirstAdministrator | undefined
  /** Stops accepting, finishes what runs, and closes the database. */
  close(): Promise<void>
}

/**
 * Serves a model. Settings that are not given come from the environment, or are defaults.
 * Rejects with a `ModelError` or a `SettingsError` that lists every fault.
 */
export async function serve(declaration: Declaration, given: GivenSettings = {}): Promise<Service> {
  const settings = readSettings({ given, environment: process.env })
  return start(checkModel(declaration), settings)
}

/** `serve` with a checked model and every setting known. */
export async function start(model: Model, settings: Settings): Promise<Service> {
  const log = createLog(settings)
  const store = await openStore(model, settings)
  const cluster = await openCluster(settings, log.logger)
  try {
    return await assemble({ model, store, cluster, log, settings })
  } catch (error) {
    await cluster.close()
    await store.close()
    throw error
  }
}

/** The model's database, made or brought up to date. */
export async function openStore(model: Model, settings: Settings): Promise<Store> {
  const { database, databaseConnections: connections, cacheBytes, autoMigrate } = settings
  if (!isPostgres(database)) return openSqlite(model, { file: database, cacheBytes, autoMigrate })
  const { openPostgres } = await import('./store/postgres.ts')
  return openPostgres(model, { url: database, connections, cacheBytes, autoMigrate })
}

/** Plans in, answers out: what is not guarded does not run. */
export function createRun(guard: Guard, store: Store): Run {
  return {
    item: (plan, principal) => store.read(guard(plan, principal)) as Awaitable<ItemAnswer>,
    list: (plan, principal) => store.read(guard(plan, principal)) as Awaitable<ListAnswer>,
    composite: (plan, principal) => store.composite(guard(plan, principal)),
    refusals: (plan, principal) => guard(plan, principal).shape.refusals,
    write: async (plan, principal) => store.write(guard(plan, principal)),
  }
}

interface Parts {
  readonly model: Model
  readonly store: Store
  readonly cluster: Cluster
  readonly log: Log
  readonly settings: Settings
}

async function assemble({ model, store, cluster, log, settings }: Parts): Promise<Service> {
  store.changes.onCommit(() => cluster.wake())
  const look = async () => store.changes.look()
  // A database that is away tells nothing; the next look, or the next request, finds what came meanwhile.
  cluster.onWake(() => void look().catch(() => undefined))
  const run = createRun(createGuard(model), store)
  const keys = apiKeyReader({
    run,
    version: collection => store.version(collection),
    adminApiKey: settings.adminApiKey,
  })
  const limits = createLimits(limitSettings(settings), cluster.counters)
  const state = { closing: false }
  const metrics = createMetrics(
    () => [...figures(limits, keys.counts, http), ...storeFigures(store), ...clusterFigures(cluster)],
    () => graphql.figures(),
  )
  const hooks = new Map([
    ['api_keys', newKeyHook(run, settings.maxKeysPerUser)],
    ['oauth_apps', newAppHook],
    ['oauth_app_secrets', newSecretHook(run)],
  ])
  const rest = createRest({
    model,
    run,
    hooks,
    baseUrl: settings.baseUrl,
  })
  const { records } = store
  const apps = createApps(run, collection => store.version(collection))
  const issuer = () => settings.baseUrl ?? listeningUrl(settings, http)
  const tokens = accessTokenReader({
    run,
    records,
    version: collection => store.version(collection),
    isApp: clientId =>
      then(apps.find(clientId), app => app !== undefined || then(records.get('Client', clientId), Boolean)),
    issuer,
  })
  const outside = await outsideReaders({
    model,
    run,
    records,
    version: name => store.version(name),
    settings,
  })
  const authenticate = createAuthenticate([keys, tokens, ...outside])
  const tokenLimit = tokenLimitOf(settings)
  const oauth = oauthFace({
    model,
    run,
    records,
    apps,
    limits,
    counters: cluster.counters,
    attempts: createAttempts({
      limits,
      tokenLimits: createLimits({ user: tokenLimit, address: tokenLimit }, cluster.counters),
      tokenLimit,
    }),
    settings,
    issuer,
    logger: log.logger,
    onFault: error => log.logger.error({ err: error }, 'the authorization server failed'),
  })
  const graphql = graphqlFace({
    model,
    run,
    hooks,
    changes: store.changes,
    authenticate,
    limits,
    settings,
    onFault: error => log.logger.error({ err: error }, 'a GraphQL operation failed'),
  })
  const stages: Stages = {
    open: openPaths({ store, cluster, metrics, state }),
    refresh: () => store.refresh(),
    authenticate,
    limits,
    bodyLimit: settings.bodyLimit,
    oauth,
    face: (exchange, principal) =>
      isGraphql(exchange.path) ? graphql.answer(exchange, principal) : rest(exchange, principal),
  }
  const http = createHttp(settings, {
    answer: createPipeline(stages),
    sockets: { paths: new Set([graphqlPath]), upgrade: createUpgrade(stages, graphql) },
    errorReply: (error, call) =>
      oauth.errorReply(error, call.path) ??
      withMetadata(isGraphql(call.path) ? graphqlErrorReply(error, call) : errorReply(error, call), issuer),
    onSent: recorder(log, metrics, routeLabels(model.collections)),
    onFault: (error, { requestId, method }) =>
      log.logger.error({ err: error, request_id: requestId, method }, 'request failed'),
  })
  await http.listen()
  const firstAdministrator = await bootstrap(run, settings).catch(async error => {
    await http.close()
    throw error
  })
  const url = listeningUrl(settings, http)
  log.logger.info({ database: publicName(settings.database) }, `listening on ${url}`)
  return {
    url,
    firstAdministrator,
    close: closer({ http, graphql, oauth, store, cluster, log, state }),
  }
}

/** `rateLimit` is the limit of addresses too, unless they have one of their own. */
function limitSettings({ rateLimit, addressRateLimit }: Settings) {
  return { user: rateLimit ?? 1000, address: addressRateLimit ?? rateLimit ?? 120 }
}

/** RFC 9728, 5.1: a challenge tells where to learn who gives out credentials. */
function withMetadata(reply: Reply, issuer: () => string): Reply {
  const at = reply.headers.indexOf('WWW-Authenticate') + 1
  if (at === 0) return reply
  const metadata = `resource_metadata="${issuer()}/.well-known/oauth-protected-resource"`
  return { ...reply, headers: reply.headers.with(at, `${reply.headers[at]}, ${metadata}`) }
}

function tokenLimitOf(settings: Settings): number | 'off' {
  return settings['oauth.tokenRateLimit'] ?? (settings.rateLimit === 'off' ? 'off' : 60)
}

/** An address at which it can be reached from this machine. */
function listeningUrl({ host }: Settings, http: HttpServer): string {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${http.port()}`
  return url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, '//localhost:')
}

interface State {
  closing: boolean
}

type Face = (exchange: Exchange, principal: Principal) => Awaitable<Reply>

function isGraphql(path: string): boolean {
  return path.startsWith(graphqlPath) && (path.length === graphqlPath.length || path.startsWith(assetsPath))
}

interface Stages {
  /** Paths that take no credential and draw no budget. */
  readonly open: ReadonlyMap<string, (exchange: Exchange) => Awaitable<Reply>>
  /** Notices what other nodes have committed. */
  readonly refresh: () => Awaitable<void>
  readonly authenticate: Authenticate
  readonly limits: Limits
  readonly bodyLimit: number
  /** Answers its own paths, which take other credentials. */
  readonly oauth: OauthFace
  readonly face: Face
}

/** others' commits → credential → Principal → budget → body → face → reply. At once where nothing has to be waited for. */
function createPipeline({ open, refresh, authenticate, limits, bodyLimit, oauth, face }: Stages) {
  const identify = identifier(authenticate, limits)
  return (exchange: Exchange): Awaitable<Reply | TakenOver> => {
    const opened = open.get(exchange.path)
    if (opened) return opened(exchange)
    return then(refresh(), () => {
      if (oauth.owns(exchange.path)) return oauth.answer(exchange)
      return then(identify(exchange), principal => {
        exchange.userId = principal.userId
        return then(limits.draw(principal, exchange), () =>
          then(exchange.readBody(bodyLimit), () => face(exchange, principal)),
        )
      })
    })
  }
}

/** credential → Principal → budget → the connection is taken over. */
function createUpgrade({ refresh, authenticate, limits }: Stages, graphql: GraphqlFace) {
  const identify = identifier(authenticate, limits)
  return async (exchange: Exchange, socket: Duplex, head: Buffer): Promise<void> => {
    await refresh()
    const principal = await identify(exchange)
    exchange.userId = principal.userId
    await limits.draw(principal, exchange)
    await graphql.upgrade(exchange, principal, socket, head)
  }
}

/** Who asks. A credential that is refused draws from the budget of the address it came from. */
function identifier(authenticate: Authenticate, limits: Limits) {
  const refuse = (error: unknown, exchange: Exchange): Awaitable<never> =>
    then(limits.draw(anonymous(budgetAddress(exchange.address)), exchange), () => {
      throw error
    })
  return (exchange: Exchange): Awaitable<Principal> => {
    try {
      const principal = authenticate(exchange, budgetAddress(exchange.address))
      if (!(principal instanceof Promise)) return principal
      return principal.catch(error => refuse(error, exchange))
    } catch (error) {
      return refuse(error, exchange)
    }
  }
}

function plainText(status: number, type: string, body: string): Reply {
  return { status, headers: ['Content-Type', type, 'Cache-Control', 'no-store'], body }
}

const json = 'application/json'

interface OpenParts {
  readonly store: Store
  readonly cluster: Cluster
  readonly metrics: Metrics
  readonly state: State
}

function openPaths({ store, cluster, metrics, state }: OpenParts): Stages['open'] {
  const ready = async () => {
    if (state.closing) throw new ApiError('UNAVAILABLE', 'The service is stopping.')
    await Promise.resolve(store.ping()).catch(cause => {
      throw new ApiError('UNAVAILABLE', 'The database does not answer.', { cause })
    })
    const trouble = cluster.trouble()
    if (trouble === undefined) return plainText(200, json, '{"status":"ok"}')
    return plainText(200, json, JSON.stringify({ status: 'degraded', reason: trouble }))
  }
  const handlers = {
    '/healthz': () => plainText(200, json, '{"status":"ok"}'),
    '/readyz': ready,
    '/metrics': async () => plainText(200, 'text/plain; version=0.0.4; charset=utf-8', await metrics.text()),
  }
  return new Map(Object.entries(handlers).map(([path, handler]) => [path, readOnly(handler)]))
}

function readOnly(handler: () => Awaitable<Reply>): (exchange: Exchange) => Awaitable<Reply> {
  const headers = { Allow: 'GET, HEAD' }
  return ({ method }) => {
    if (method === 'GET' || method === 'HEAD') return handler()
    throw new ApiError('METHOD_NOT_ALLOWED', undefined, { headers })
  }
}

function recorder(log: Log, metrics: Metrics, routeOf: (path: string) => string) {
  return (exchange: Exchange, status: number, bytes: number | undefined) => {
    const milliseconds = performance.now() - exchange.start
    metrics.observe(exchange.method, routeOf(exchange.path), status, milliseconds / 1000)
    log.access(exchange, status, milliseconds, bytes)
  }
}

function figures(limits: Limits, keys: { hits: number; misses: number }, http: HttpServer): Figure[] {
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

function storeFigures(store: Store): Figure[] {
  const counter = (name: string, help: string, count: keyof StoreCounts): Figure => {
    return { name: `portico_${name}_total`, help, kind: 'counter', read: () => store.counts()[count] }
  }
  return [
    counter('commits', 'Commits to the database.', 'commits'),
    counter('committed_writes', 'Writes in these commits: several that arrive together share one.', 'writes'),
    counter('answer_cache_hits', 'Reads that were answered from memory.', 'answerHits'),
    counter('answer_cache_misses', 'Reads for which the database was asked.', 'answerMisses'),
  ]
}

interface Running {
  readonly http: HttpServer
  readonly graphql: GraphqlFace
  readonly oauth: OauthFace
  readonly store: Store
  readonly cluster: Cluster
  readonly log: Log
  readonly state: State
}

function closer({ http, graphql, oauth, store, cluster, log, state }: Running): () => Promise<void> {
  let closed: Promise<void> | undefined
  const close = async () => {
    state.closing = true
    graphql.close()
    await http.close()
    await oauth.idle()
    await cluster.close()
    await store.close()
    log.flush()
  }
  return () => (closed ??= close())
}
