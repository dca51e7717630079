/** Puts the service together. `createPipeline` shows the stages of every request, in order. */
import type { Duplex } from 'node:stream'
import { path as graphqlPath } from '../../api/graphql/transports/http-reply.ts'
import { streamsBody } from '../../api/rest/files/streams.ts'
import type { Routes } from '../../api/routes/routes.ts'
import { type Awaitable, then } from '../../base/awaitable.ts'
import { isHealthCheck, type Reply, type Takeover } from '../../base/call.ts'
import { type Clock, systemClock } from '../../delivery/consumer/timetable.ts'
import type { Cluster } from '../../engine/cluster/cluster.ts'
import { createRateLimits, type RateLimits } from '../../engine/cluster/rate-limits.ts'
import type { ObjectStore } from '../../engine/files/object-store.ts'
import { createGuard } from '../../engine/plan/guard/guard.ts'
import type { Run } from '../../engine/plan/run.ts'
import type { Store } from '../../engine/store/store.ts'
import type { Authenticate } from '../../identity/authenticate.ts'
import { bootstrap } from '../../identity/bootstrap.ts'
import type { EncryptedRecords } from '../../identity/encryption/encrypted-records.ts'
import type { MailCatalogue } from '../../identity/mail/catalogue.ts'
import type { Mailer } from '../../identity/mail/mailer.ts'
import { checkModel } from '../../model/check/check.ts'
import type { Declaration } from '../../model/declaration.ts'
import type { Model } from '../../model/model.ts'
import { readSettings, type Settings, settingsWarnings } from '../config/config.ts'
import { publicName } from '../config/database.ts'
import { createHttp, type Exchange, type HttpServer } from '../http/http.ts'
import { allMethods } from '../http/raw-response.ts'
import { createLog, type Log } from '../observability/log.ts'
import { routeLabels } from '../observability/metrics.ts'
import { openTraces, type Traces } from '../observability/traces.ts'
import { loadMailTemplates, openMailer } from './background/mailer.ts'
import { followOthers, openCluster } from './cluster.ts'
import { type Credentials, openCredentials } from './credentials/credentials.ts'
import { createIdentify } from './credentials/identify.ts'
import { dataParts, programTools } from './data.ts'
import { openObjects } from './files.ts'
import { FaultLog } from './monitoring/fault-log.ts'
import { type HealthChecks, healthChecks, requireStarted } from './monitoring/health-checks.ts'
import { requestRecorder } from './monitoring/metrics.ts'
import { refusalLog } from './monitoring/refusal-log.ts'
import { serverTiming } from './monitoring/server-timing.ts'
import { serviceMetrics } from './monitoring/service-metrics.ts'
import { SlowListRecorder } from './monitoring/slow-lists.ts'
import { logStrayRejections } from './monitoring/stray-rejections.ts'
import { tracedGuard, tracedRequests, tracedSent, tracedStore } from './monitoring/traces.ts'
import { frameOf } from './oauth/account-pages.ts'
import type { LazyOauth } from './oauth/oauth.ts'
import { drawRequest } from './request-budget.ts'
import type { DevPages, OpenService, ServeOptions, Service, StartOptions } from './service.ts'
import { closeAll, type State, shutdown } from './shutdown.ts'
import { createRun, openEncrypted, openStore, registerLogic } from './store.ts'
import { errorReplies, isGraphql } from './transports/error-replies.ts'
import type { LazyGraphql } from './transports/graphql.ts'
import { type Transport, withReasons } from './transports/refusals.ts'
import { openTransports, type Transports } from './transports/transports.ts'

/**
 * Serves a model. Omitted settings come from the environment, or have their defaults.
 * Rejects with a `ModelError` or a `SettingsError` that lists every fault.
 */
export async function serve(
  declaration: Declaration,
  { listen, ...given }: ServeOptions = {},
): Promise<Service> {
  const settings = readSettings({ given, environment: process.env })
  return start(checkModel(declaration), settings, { listen })
}

/** Serves a checked model with settings that were already read. */
export async function start(model: Model, settings: Settings, options: StartOptions = {}): Promise<Service> {
  const log = createLog(settings, options.worker?.log ?? options.logOutput)
  if (options.ownProcess || options.worker) logStrayRejections(log)
  if (options.ownProcess) for (const warning of settingsWarnings(process.env)) log.logger.warn(warning)
  if (settings.workers > 1 && options.worker === undefined) {
    const { superviseWorkers } = await import('./supervise-workers.ts')
    return superviseWorkers(options, { model, settings, log, open })
  }
  return (await open(model, settings, log, options)).service
}

/** Starts the service in this thread. */
export async function open(
  model: Model,
  settings: Settings,
  log: Log,
  options: StartOptions,
): Promise<OpenService> {
  const { worker, simulation } = options
  // Before the database is opened: a start that fails because of faulty templates must not change it.
  const mailCatalogue = await loadMailTemplates(settings)
  const store = await openStore(model, settings, { log, worker, now: simulation?.clock.now })
  let cluster: Cluster | undefined
  let traces: Traces | undefined
  try {
    cluster = await openCluster(settings, log.logger, worker?.cluster)
    traces = await openTraces(settings, log.logger)
    const encrypted = await openEncrypted(store, settings, log)
    const objects = await openObjects(model, settings, store.records)
    const faults = new FaultLog({ logger: log.logger, check: () => store.check(), clock: systemClock })
    const opened = {
      ...{ model, store, objects, encrypted, cluster, log, faults, traces, settings, options, mailCatalogue },
    }
    return await assemble(opened)
  } catch (error) {
    const opened = [traces, cluster, store]
    // The failure to start matters more than a failure to close.
    await closeAll(opened.map(part => () => part?.close())).catch(() => undefined)
    throw error
  }
}

interface ServiceParts {
  readonly model: Model
  readonly store: Store
  /** The file store of a model with files. */
  readonly objects: ObjectStore | undefined
  /** The store's records, with their secrets encrypted. */
  readonly encrypted: EncryptedRecords
  readonly cluster: Cluster
  readonly log: Log
  readonly faults: FaultLog
  readonly traces: Traces | undefined
  readonly settings: Settings
  readonly options: StartOptions
  readonly mailCatalogue: MailCatalogue
}

async function assemble(parts: ServiceParts): Promise<OpenService> {
  const { settings, options } = parts
  const state: State = { starting: options.worker === undefined, closing: false }
  const issuer = () => settings.baseUrl ?? listeningUrl(settings, http)
  const handling = await openHandling(parts, issuer)
  const http = openHttp(parts, handling, { state, issuer, http: () => http })
  const firstAdministrator = await startServing(parts, handling, http)
  state.starting = false
  startBackground(parts, handling.transports)
  const url = options.listen === false ? issuer() : listeningUrl(settings, http)
  announce(parts, url)
  return openedService(parts, handling, { http, state, url, firstAdministrator })
}

/** What answers requests. */
interface Handling {
  readonly mail: Mailer
  readonly run: Run
  readonly limits: RateLimits
  readonly credentials: Credentials
  readonly transports: Transports
  readonly refusals: ReturnType<typeof refusalLog>
  readonly timing: ReturnType<typeof serverTiming> | undefined
  readonly clock: Clock
}

async function openHandling(parts: ServiceParts, issuer: () => string): Promise<Handling> {
  const { model, store, encrypted, cluster, log, traces, settings, options } = parts
  followOthers(store, cluster)
  const timing = settings.serverTiming ? serverTiming(store.queries) : undefined
  const traced = tracedStore(store, traces)
  const run = createRun(
    tracedGuard(createGuard(model), traces),
    timing ? timing.store(traced) : traced,
    change => encrypted.change(change),
  )
  const limits = createRateLimits(settings.rateLimit, cluster.counters)
  const credentials = await openCredentials({ ...parts, run, issuer })
  const mail = openMailer({ ...parts, records: credentials.records, logger: log.logger })
  const { simulation, sendToProviders } = options
  const clock = simulation?.clock ?? systemClock
  const refusals = refusalLog({ model, run, logger: log.logger })
  const transports = openTransports({
    ...parts,
    ...credentials,
    ...{ run, limits, issuer, mail, clock, sendToProviders, refusals },
    isDevelopment: options.devPages !== undefined,
  })
  return { run, limits, credentials, mail, transports, refusals, timing, clock }
}

interface Listening {
  readonly state: Readonly<State>
  readonly issuer: () => string
  /** The server itself, for metrics that are read later. */
  readonly http: () => HttpServer
}

function openHttp(parts: ServiceParts, handling: Handling, listening: Listening): HttpServer {
  const { model, store, cluster, log, faults, traces, settings, options } = parts
  const { limits, credentials, mail, transports, refusals, timing } = handling
  const { state, issuer, http } = listening
  const { worker } = options
  const { graphql, oauth } = transports
  const metrics = serviceMetrics({ store, cluster, limits, transports, keys: credentials.counts, http })
  worker?.setMetricsSource(() => metrics.text())
  const transport = transportOf(transports, parts)
  const metricsText = worker ? worker.allMetrics : metrics.text
  const pipelineParts: PipelineParts = {
    model,
    state,
    devPages: options.devPages,
    healthChecks: healthChecks({ store, cluster, metricsText, state }),
    refresh: () => store.refresh(),
    authenticate: credentials.authenticate,
    limits,
    bodyLimitBytes: settings.bodyLimit,
    oauth,
    routes: transports.routes.routes,
    transport: timing
      ? (exchange, principal) => timing.reply(() => transport(exchange, principal))
      : transport,
  }
  const routeOf = routeLabels(model.collections, transports.routes.routes)
  return createHttp(settings, {
    answer: tracedRequests(createPipeline(pipelineParts), traces),
    sockets: {
      paths: new Set([graphqlPath]),
      upgrade: tracedRequests(createUpgrade(pipelineParts, graphql), traces),
      endIdle: count => graphql.endIdle(count),
    },
    errorReply: errorReplies({ oauth, frame: frameOf(settings), mail, issuer, refusals }),
    onSent: tracedSent(requestRecorder(log, metrics, routeOf), traces, routeOf),
    ...faults.http,
  })
}

/** Opens the port, and creates the first administrator where there is none. */
async function startServing(parts: ServiceParts, { clock, run }: Handling, http: HttpServer) {
  const { worker, simulation, background = true, listen = true } = parts.options
  if (worker === undefined && (background || simulation))
    await registerLogic(parts.model, parts.store, clock.now)
  if (listen === true) await http.listen(worker !== undefined)
  return worker || !background ? undefined : await createAdministrator(parts, run, http)
}

/** Only the first thread of a process sends webhooks, runs reactions and jobs, deletes accounts and removes files. */
function startBackground(
  { options }: ServiceParts,
  { webhooks, reactions, deletions, files }: Transports,
): void {
  const { worker, background = true } = options
  if (!background || (worker !== undefined && worker.index !== 0)) return
  webhooks.start()
  reactions.start()
  deletions.start()
  files?.start()
}

interface Started {
  readonly http: HttpServer
  readonly state: State
  readonly url: string
  readonly firstAdministrator: Service['firstAdministrator']
}

function openedService(parts: ServiceParts, handling: Handling, started: Started): OpenService {
  const { model, store, cluster, log, traces, settings } = parts
  const { run, credentials, transports } = handling
  const { rest, explain, graphql, oauth, events, webhooks, reactions, deletions, routes, files } = transports
  const { http, state, url, firstAdministrator } = started
  const slowLists = store.queries && new SlowListRecorder({ insight: store.queries, records: store.records })
  const endStreams = () => {
    graphql.close()
    events.hub.close()
  }
  const close = shutdown({
    ...{
      http,
      endStreams,
      oauth,
      webhooks,
      reactions,
      deletions,
      routes,
      files,
      store,
      cluster,
      slowLists,
      log,
      traces,
      state,
    },
    lastUses: credentials.lastUses,
    delaySeconds: settings.shutdown.delay / 1000,
  })
  const data = dataParts(model, transports, () => store.refresh())
  const { handler, upgrade } = http
  const service = {
    url,
    firstAdministrator,
    ...programTools(data, transports.logic, run),
    handler,
    upgrade,
    close,
  }
  const opened = { service, run, http, data, rest, explain, reactions, endStreams }
  return { ...opened, records: credentials.records, feed: store.changes }
}

function transportOf({ rest, graphql, explain }: Transports, { options }: ServiceParts): Transport {
  const transport: Transport = (exchange, principal) =>
    isGraphql(exchange.path) ? graphql.answer(exchange, principal) : rest(exchange, principal)
  const { explainsRefusals: explainsTo } = options
  return withReasons(
    transport,
    explainsTo && process.env.NODE_ENV !== 'production' ? { explain, explainsTo } : undefined,
  )
}

/** Logs the address of the service, unless another process or thread does. */
function announce({ options, settings, log }: ServiceParts, url: string): void {
  const { listen, worker, background = true } = options
  if (listen === 'elsewhere' || worker !== undefined || !background) return
  const place = listen === false ? 'expected at' : 'listening on'
  log.logger.info({ database: publicName(settings.database) }, `${place} ${url}`)
}

function createAdministrator({ encrypted, settings }: ServiceParts, run: Run, http: HttpServer) {
  return bootstrap(run, encrypted, settings).catch(async error => {
    await http.close()
    throw error
  })
}

/** An address at which this machine can reach the service. */
function listeningUrl({ host }: Settings, http: HttpServer): string {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${http.port()}`
  return url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, '//localhost:')
}

interface PipelineParts {
  readonly model: Model
  readonly state: Readonly<State>
  /** The pages of the development mode. */
  readonly devPages: DevPages | undefined
  /** Health checks and metrics, which need no credential and draw from no budget. */
  readonly healthChecks: HealthChecks
  /** Makes commits of other nodes visible to the caches. */
  readonly refresh: () => Awaitable<void>
  readonly authenticate: Authenticate
  readonly limits: RateLimits
  readonly bodyLimitBytes: number
  /** Answers the paths of OAuth and of accounts, which accept other credentials. */
  readonly oauth: LazyOauth
  /** Answers the paths of the model's own, whose requests draw from budgets of their own. */
  readonly routes: Routes | undefined
  readonly transport: Transport
}

/** The answer to `OPTIONS *`, which asks about the server (RFC 9110, 9.3.7). No other request has this target. */
const serverOptions: Reply = {
  status: 204,
  headers: ['Allow', allMethods, 'Cache-Control', 'no-store'],
  body: null,
}

/** commits of other nodes → credential → Principal → budget → body → transport → reply. Synchronous if no stage waits. */
function createPipeline({
  model,
  state,
  healthChecks,
  refresh,
  authenticate,
  limits,
  bodyLimitBytes,
  oauth,
  routes,
  transport,
  devPages,
}: PipelineParts) {
  const identify = createIdentify(authenticate, limits)
  const bodyOf = (exchange: Exchange) =>
    streamsBody(model, exchange) ? exchange.streamBody() : exchange.readBody(bodyLimitBytes)
  return (exchange: Exchange): Awaitable<Reply | Takeover> => {
    const healthCheck = isHealthCheck(exchange.path) ? healthChecks.get(exchange.path) : undefined
    if (healthCheck) return healthCheck(exchange)
    requireStarted(state)
    if (exchange.path === '*') return serverOptions
    if (devPages?.owns(exchange.path)) return devPages.answer(exchange)
    return then(refresh(), () => {
      if (oauth.owns(exchange.path)) return oauth.answer(exchange)
      const found = routes?.at(exchange.path)
      return then(identify(exchange), principal => {
        exchange.userId = principal.userId
        if (found && routes) return routes.answer(found, exchange, principal)
        return then(drawRequest(limits, principal, exchange), () =>
          then(bodyOf(exchange), () => transport(exchange, principal)),
        )
      })
    })
  }
}

/** credential → Principal → budget → the WebSocket takes the connection over. */
function createUpgrade({ state, refresh, authenticate, limits }: PipelineParts, graphql: LazyGraphql) {
  const identify = createIdentify(authenticate, limits)
  return async (exchange: Exchange, socket: Duplex, head: Buffer): Promise<void> => {
    requireStarted(state)
    await refresh()
    const principal = await identify(exchange)
    exchange.userId = principal.userId
    await limits.draw(principal, exchange)
    await graphql.upgrade(exchange, principal, socket, head)
  }
}
