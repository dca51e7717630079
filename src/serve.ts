/** Puts the parts together. The way of every request stands in `createPipeline`, in order. */
import type { Duplex } from 'node:stream'
import type { Authenticate } from './auth/authenticate.ts'
import { bootstrap, type FirstAdministrator } from './auth/bootstrap.ts'
import type { Reply, TakenOver } from './call.ts'
import type { Cluster } from './cluster/cluster.ts'
import { budgetAddress, createLimits, type Limits } from './cluster/limits.ts'
import { publicName } from './config/database.ts'
import { type GivenSettings, readSettings, type Settings } from './config.ts'
import { path as graphqlPath } from './graphql/http-reply.ts'
import { createHttp, type Exchange, type HttpParts, type HttpServer } from './http.ts'
import { createLog, type Log } from './log.ts'
import { createMetrics, routeLabels } from './metrics.ts'
import { checkModel } from './model/check.ts'
import type { Declaration } from './model/declaration.ts'
import type { Model } from './model/model.ts'
import { type Awaitable, then } from './plan/answer.ts'
import { createGuard } from './plan/guard.ts'
import type { Run } from './plan/run.ts'
import { anonymous, type Principal } from './principal.ts'
import { isProbe } from './probes.ts'
import type { Records } from './records.ts'
import { closer, type State } from './serve/close.ts'
import { clusterFigures, followOthers, openCluster } from './serve/cluster.ts'
import { openCredentials } from './serve/credentials.ts'
import { errorReplies, isGraphql } from './serve/error-replies.ts'
import { openFaces } from './serve/faces.ts'
import { figures, recorder, replicaFigures, slowReadFigures, storeFigures } from './serve/figures.ts'
import { gateFigures } from './serve/gate.ts'
import type { GraphqlFace } from './serve/graphql.ts'
import type { OauthFace } from './serve/oauth.ts'
import { type OpenPaths, openPaths, requireStarted } from './serve/open-paths.ts'
import { SlowKeeper } from './serve/queries.ts'
import { serverTiming } from './serve/server-timing.ts'
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
  const store = await openStore(model, settings, { log, crew })
  let cluster: Cluster | undefined
  let traces: Traces | undefined
  try {
    cluster = await openCluster(settings, log.logger, crew?.cluster)
    traces = await openTraces(settings, log.logger)
    const sealed = await openSealed(store, settings, log)
    return await assemble({ model, store, sealed, cluster, log, traces, settings, crew })
  } catch (error) {
    await traces?.close()
    await cluster?.close()
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
  followOthers(store, cluster)
  const timing = settings.serverTiming ? serverTiming(store.queries) : undefined
  const traced = tracedStore(store, traces)
  const run = createRun(tracedGuard(createGuard(model), traces), timing ? timing.store(traced) : traced)
  const limits = createLimits(limitSettings(settings), cluster.counters)
  const issuer = () => settings.baseUrl ?? listeningUrl(settings, http)
  const credentials = await openCredentials({ ...parts, run, issuer })
  await credentials.secrets.moveAll()
  const { rest, graphql, oauth } = openFaces({ ...parts, ...credentials, run, limits, issuer })
  const metrics = createMetrics(
    () => [
      ...figures(limits, credentials.counts, http),
      ...gateFigures(http),
      ...storeFigures(store),
      ...slowReadFigures(store),
      ...replicaFigures(store),
      ...clusterFigures(cluster),
    ],
    () => graphql.figures(),
  )
  crew?.tellBy(() => metrics.text())
  const face: Face = (exchange, principal) =>
    isGraphql(exchange.path) ? graphql.answer(exchange, principal) : rest(exchange, principal)
  const state: State = { starting: crew === undefined, closing: false }
  const stages: Stages = {
    state,
    open: openPaths({ store, cluster, figuresText: crew ? crew.gather : metrics.text, state }),
    refresh: () => store.refresh(),
    authenticate: credentials.authenticate,
    limits,
    bodyLimit: settings.bodyLimit,
    oauth,
    face: timing ? (exchange, principal) => timing.reply(() => face(exchange, principal)) : face,
  }
  const routeOf = routeLabels(model.collections)
  const http = createHttp(settings, {
    answer: tracedRequests(createPipeline(stages), traces),
    sockets: {
      paths: new Set([graphqlPath]),
      upgrade: tracedRequests(createUpgrade(stages, graphql), traces),
      endIdle: count => graphql.endIdle(count),
    },
    errorReply: errorReplies(oauth, issuer),
    onSent: tracedSent(recorder(log, metrics, routeOf), traces, routeOf),
    ...faultNotes(log),
  })
  await http.listen(crew !== undefined)
  const firstAdministrator = crew ? undefined : await bootstrapped(parts, run, http)
  state.starting = false
  const url = listeningUrl(settings, http)
  if (!crew) log.logger.info({ database: publicName(settings.database) }, `listening on ${url}`)
  const delay = settings.shutdownDelay
  const slow = store.queries && new SlowKeeper({ insight: store.queries, records: store.records })
  const close = closer({ http, graphql, oauth, store, cluster, slow, log, traces, state, delay })
  return { url, firstAdministrator, close }
}

/** What the log says of faults, and of too many requests. */
function faultNotes({ logger }: Log): Pick<HttpParts, 'onOverload' | 'onFault'> {
  return {
    onOverload(isOver, refused) {
      if (isOver) logger.warn('overloaded: requests that cannot be answered in time are refused')
      else logger.warn({ refused }, 'no longer overloaded')
    },
    onFault: (error, { requestId, method }) =>
      logger.error({ err: error, request_id: requestId, method }, 'request failed'),
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

/** An address at which it can be reached from this machine. */
function listeningUrl({ host }: Settings, http: HttpServer): string {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${http.port()}`
  return url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, '//localhost:')
}

type Face = (exchange: Exchange, principal: Principal) => Awaitable<Reply>

interface Stages {
  readonly state: Readonly<State>
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
function createPipeline({ state, open, refresh, authenticate, limits, bodyLimit, oauth, face }: Stages) {
  const identify = identifier(authenticate, limits)
  return (exchange: Exchange): Awaitable<Reply | TakenOver> => {
    const opened = isProbe(exchange.path) ? open.get(exchange.path) : undefined
    if (opened) return opened(exchange)
    requireStarted(state)
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
function createUpgrade({ state, refresh, authenticate, limits }: Stages, graphql: GraphqlFace) {
  const identify = identifier(authenticate, limits)
  return async (exchange: Exchange, socket: Duplex, head: Buffer): Promise<void> => {
    requireStarted(state)
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
