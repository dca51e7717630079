/** Puts the parts together. The way of every request stands in `createPipeline`, in order. */
import type { Duplex } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { Authenticate } from './auth/authenticate.ts'
import { bootstrap, type FirstAdministrator } from './auth/bootstrap.ts'
import { withKeyBounds } from './auth/key-bounds.ts'
import { newKeyHook } from './auth/new-key.ts'
import { newAppHook, newSecretHook, withAppRules } from './auth/server/apps.ts'
import type { Reply, TakenOver } from './call.ts'
import type { Cluster } from './cluster/cluster.ts'
import { budgetAddress, createLimits, type Limits } from './cluster/limits.ts'
import { publicName } from './config/database.ts'
import { type GivenSettings, readSettings, type Settings } from './config.ts'
import { assetsPath, errorReply as graphqlErrorReply, path as graphqlPath } from './graphql/http-reply.ts'
import { createHttp, type Exchange, type HttpServer } from './http.ts'
import { createLog, type Log } from './log.ts'
import { createMetrics, routeLabels } from './metrics.ts'
import { checkModel } from './model/check.ts'
import type { Declaration } from './model/declaration.ts'
import type { Model } from './model/model.ts'
import { type Awaitable, then } from './plan/answer.ts'
import { createGuard } from './plan/guard.ts'
import type { Run } from './plan/run.ts'
import { anonymous, type Principal } from './principal.ts'
import type { Records } from './records.ts'
import { createRest, errorReply } from './rest/rest.ts'
import { attemptsOf } from './serve/attempts.ts'
import { clusterFigures, openCluster } from './serve/cluster.ts'
import { openCredentials } from './serve/credentials.ts'
import { figures, recorder, storeFigures } from './serve/figures.ts'
import { gateFigures } from './serve/gate.ts'
import { type GraphqlFace, graphqlFace } from './serve/graphql.ts'
import { type OauthFace, oauthFace } from './serve/oauth.ts'
import { type OpenPaths, openPaths } from './serve/open-paths.ts'
import { createRun, openSealed, openStore, prepare } from './serve/store.ts'
import { tracedGuard, tracedRequests, tracedSent, tracedStore } from './serve/traces.ts'
import type { Store } from './store/store.ts'
import { openTraces, type Traces } from './traces.ts'
import type { Crew } from './workers/crew.ts'

export interface Service {
  /** Where it listens, without a trailing slash. */
  readonly url: string
  /** The administrator that this start has made, to be shown once; undefined on every later start. */
  readonly firstAdministrator: FirstAdministrator | undefined
  /** Serves on for `shutdownDelay`, stops accepting, finishes what runs, and closes the database. */
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

/** `serve` with a checked model and every setting known. `crew`: what one of several workers shares. */
export async function start(model: Model, settings: Settings, crew?: Crew): Promise<Service> {
  const log = createLog(settings, crew?.log)
  if (settings.workers > 1 && crew === undefined) {
    const { startWorkers } = await import('./workers.ts')
    return startWorkers({ model, settings, log, prepare: () => prepare(model, settings, log) })
  }
  const store = await openStore(model, settings, crew)
  const cluster = await openCluster(settings, log.logger, crew?.cluster)
  let traces: Traces | undefined
  try {
    traces = await openTraces(settings, log.logger)
    const sealed = await openSealed(store, settings, log)
    return await assemble({ model, store, sealed, cluster, log, traces, settings, crew })
  } catch (error) {
    await traces?.close()
    await cluster.close()
    await store.close()
    throw error
  }
}

interface Parts {
  readonly model: Model
  readonly store: Store
  /** The store's, with what is secret in them sealed. */
  readonly sealed: Records
  readonly cluster: Cluster
  readonly log: Log
  readonly traces: Traces | undefined
  readonly settings: Settings
  readonly crew: Crew | undefined
}

async function assemble(parts: Parts): Promise<Service> {
  const { model, store, cluster, log, traces, settings, crew } = parts
  store.changes.onCommit(() => cluster.wake())
  const look = async () => store.changes.look()
  // A database that is away tells nothing; the next look, or the next request, finds what came meanwhile.
  cluster.onWake(() => void look().catch(() => undefined))
  const run = withKeyBounds(createRun(tracedGuard(createGuard(model), traces), tracedStore(store, traces)))
  const limits = createLimits(limitSettings(settings), cluster.counters)
  const state = { closing: false }
  const metrics = createMetrics(
    () => [
      ...figures(limits, counts, http),
      ...gateFigures(http),
      ...storeFigures(store),
      ...clusterFigures(cluster),
    ],
    () => graphql.figures(),
  )
  crew?.tellBy(() => metrics.text())
  const hooks = new Map([
    ['api_keys', newKeyHook(settings.maxKeysPerUser)],
    ['oauth_apps', newAppHook],
    ['oauth_app_secrets', newSecretHook(run)],
  ])
  const faceRun = withAppRules(run)
  const rest = createRest({
    model,
    run: faceRun,
    hooks,
    baseUrl: settings.baseUrl,
  })
  const issuer = () => settings.baseUrl ?? listeningUrl(settings, http)
  const { authenticate, counts, records, apps } = await openCredentials({ ...parts, run, issuer })
  const oauth = oauthFace({
    model,
    run,
    records,
    apps,
    limits,
    counters: cluster.counters,
    attempts: attemptsOf(settings, limits, cluster.counters),
    settings,
    issuer,
    logger: log.logger,
    onFault: error => log.logger.error({ err: error }, 'the authorization server failed'),
  })
  const graphql = graphqlFace({
    model,
    run: faceRun,
    hooks,
    changes: store.changes,
    authenticate,
    refresh: () => store.refresh(),
    limits,
    settings,
    onFault: error => log.logger.error({ err: error }, 'a GraphQL operation failed'),
  })
  const stages: Stages = {
    open: openPaths({ store, cluster, figuresText: crew ? crew.gather : metrics.text, state }),
    refresh: () => store.refresh(),
    authenticate,
    limits,
    bodyLimit: settings.bodyLimit,
    oauth,
    face: (exchange, principal) =>
      isGraphql(exchange.path) ? graphql.answer(exchange, principal) : rest(exchange, principal),
  }
  const routeOf = routeLabels(model.collections)
  const http = createHttp(settings, {
    answer: tracedRequests(createPipeline(stages), traces),
    sockets: {
      paths: new Set([graphqlPath]),
      upgrade: tracedRequests(createUpgrade(stages, graphql), traces),
    },
    errorReply: (error, call) =>
      oauth.errorReply(error, call.path) ??
      withMetadata(isGraphql(call.path) ? graphqlErrorReply(error, call) : errorReply(error, call), issuer),
    onOverload: (isOver, refused) =>
      isOver
        ? log.logger.warn('overloaded: requests that cannot be answered in time are refused')
        : log.logger.warn({ refused }, 'no longer overloaded'),
    onSent: tracedSent(recorder(log, metrics, routeOf), traces, routeOf),
    onFault: (error, { requestId, method }) =>
      log.logger.error({ err: error, request_id: requestId, method }, 'request failed'),
  })
  await http.listen(crew !== undefined)
  const firstAdministrator = crew ? undefined : await bootstrapped(parts, run, http)
  const url = listeningUrl(settings, http)
  if (!crew) log.logger.info({ database: publicName(settings.database) }, `listening on ${url}`)
  return {
    url,
    firstAdministrator,
    close: closer({
      http,
      graphql,
      oauth,
      store,
      cluster,
      log,
      traces,
      state,
      delay: settings.shutdownDelay,
    }),
  }
}

function bootstrapped({ sealed, settings }: Parts, run: Run, http: HttpServer) {
  return bootstrap(run, sealed, settings).catch(async error => {
    await http.close()
    throw error
  })
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
  readonly open: OpenPaths
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

interface Running {
  readonly http: HttpServer
  readonly graphql: GraphqlFace
  readonly oauth: OauthFace
  readonly store: Store
  readonly cluster: Cluster
  readonly log: Log
  readonly traces: Traces | undefined
  readonly state: State
  /** Seconds between the moment when `/readyz` says so and the stop. */
  readonly delay: number
}

function closer({
  http,
  graphql,
  oauth,
  store,
  cluster,
  log,
  traces,
  state,
  delay,
}: Running): () => Promise<void> {
  let closed: Promise<void> | undefined
  const close = async () => {
    state.closing = true
    if (delay > 0) {
      http.drain()
      await wait(delay * 1000)
    }
    graphql.close()
    await http.close()
    await oauth.idle()
    await cluster.close()
    await store.close()
    await traces?.close()
    log.flush()
  }
  return () => (closed ??= close())
}
