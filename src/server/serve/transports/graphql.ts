/** The GraphQL transport, loaded with its first request to keep starts short. */
import type { Duplex } from 'node:stream'
import type { CredentialHeaders } from '../../../api/events/credential-monitor.ts'
import { type Manifest, readManifest } from '../../../api/graphql/documents/manifest.ts'
import type { OnError, RateLimit } from '../../../api/graphql/engine.ts'
import type { EngineOptions } from '../../../api/graphql/execute/create-engine.ts'
import type { Account, Graphql } from '../../../api/graphql/graphql.ts'
import { transportLimits } from '../../../api/graphql/limits/transport-limits.ts'
import { loadModules } from '../../../api/graphql/load.ts'
import { path as graphqlPath } from '../../../api/graphql/transports/http-reply.ts'
import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { Reply } from '../../../base/call.ts'
import type { Principal } from '../../../base/principal.ts'
import { budgetAddress, type RateLimited, type RateLimits } from '../../../engine/cluster/rate-limits.ts'
import type { Idempotency } from '../../../engine/idempotency/idempotency.ts'
import type { OperationParts } from '../../../engine/logic/operations/call.ts'
import type { CreateHooks, Run } from '../../../engine/plan/run.ts'
import type { Mailer } from '../../../identity/mail/mailer.ts'
import type { SessionCookieReader } from '../../../identity/session-cookie.ts'
import type { Model } from '../../../model/model.ts'
import { type Settings, SettingsError } from '../../config/config.ts'
import { documentLimits } from '../../config/document-limits.ts'
import type { Exchange } from '../../http/http.ts'
import { credentialOf } from '../credentials/connected-client.ts'
import type { RefusalLog } from '../monitoring/refusal-log.ts'
import { metadataParameter } from './error-replies.ts'
import { maxBufferedBytes, type ProcessEvents } from './events.ts'
import { explorerFrame } from './portal.ts'

export interface LazyGraphqlParts {
  readonly model: Model
  readonly run: Run
  readonly hooks: CreateHooks
  readonly logic: OperationParts
  readonly idempotency: Idempotency
  readonly events: ProcessEvents
  /** Makes commits of other nodes visible: no request has done so for a message of a WebSocket. */
  readonly refresh: () => Awaitable<void>
  readonly limits: RateLimits
  readonly settings: Settings
  readonly sessions: SessionCookieReader
  readonly mail: Mailer
  /** The address of the service. */
  readonly issuer: () => string
  readonly onFault: (error: unknown) => void
  readonly refusals: RefusalLog | undefined
}

/** GraphQL, which is loaded at its first use. Until then it has no metrics. */
export interface LazyGraphql extends Pick<Graphql, 'endIdle' | 'metrics' | 'close'> {
  answer(exchange: Exchange, principal: Principal): Awaitable<Reply>
  upgrade(exchange: Exchange, principal: Principal, socket: Duplex, head: Buffer): Awaitable<void>
}

export function createLazyGraphql(parts: LazyGraphqlParts): LazyGraphql {
  const { limits, refusals } = parts
  const registered = registeredDocuments(parts.settings)
  let graphql: Graphql | undefined
  let isClosed = false
  let loading: Promise<Graphql> | undefined
  const load = () => {
    loading ??= loadGraphql(parts, registered).then(
      loaded => {
        graphql = loaded
        if (isClosed) loaded.close()
        return loaded
      },
      error => {
        loading = undefined
        throw error
      },
    )
    return loading
  }
  return {
    answer(exchange, principal) {
      const account = new ExchangeAccount(limits, exchange, principal, refusals)
      return graphql
        ? graphql.answer(exchange, account)
        : load().then(loaded => loaded.answer(exchange, account))
    },
    async upgrade(exchange, principal, socket, head) {
      const loaded = graphql ?? (await load())
      const address = budgetAddress(exchange.address)
      const credential = credentialOf(exchange, principal)
      loaded.upgrade({ req: exchange.req, socket, head, address, credential, principal })
    },
    endIdle: count => graphql?.endIdle(count) ?? 0,
    metrics: () => graphql?.metrics() ?? '',
    close() {
      isClosed = true
      graphql?.close()
    },
  }
}

async function loadGraphql(parts: LazyGraphqlParts, registered: Manifest): Promise<Graphql> {
  const { createEngine, createGraphql } = await loadModules(parts.run)
  const { refresh, limits, settings, events, idempotency, refusals, onFault } = parts
  return createGraphql(
    {
      engine: createEngine(engineOptions(parts)),
      events,
      identify: events.identify,
      idempotency,
      accountOf: (principal, credential) =>
        new SocketAccount({ limits, refresh, refusals }, principal, credential),
      challenge: () => `Bearer realm="api", ${metadataParameter(graphqlPath, parts.issuer())}`,
      onFault,
    },
    {
      documents: { mode: settings['graphql.documents'].mode, registered },
      explorer: settings['graphql.introspection'] ? explorerFrame(parts) : undefined,
      maxSubscriptions: settings.quotas.subscriptions,
      ...transportLimits,
      maxBufferedBytes,
      maxMessageBytes: settings.bodyLimit,
    },
  )
}

/** Throws a `SettingsError` for an unusable file, which stops the start. */
export function registeredDocuments(settings: Settings): Manifest {
  try {
    return readManifest(settings['graphql.documents'].file)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new SettingsError([{ place: '`graphql.documents`', message }])
  }
}

export function engineOptions({
  model,
  run,
  hooks,
  logic,
  settings,
}: Pick<LazyGraphqlParts, 'model' | 'run' | 'hooks' | 'logic' | 'settings'>): EngineOptions {
  return {
    model,
    run,
    hooks,
    logic,
    introspection: settings['graphql.introspection'],
    limits: documentLimits(settings),
  }
}

/** Draws from the rate limit of an HTTP request's caller; the reply says what remains. */
class ExchangeAccount implements Account {
  readonly principal: Principal
  readonly onError: OnError | undefined
  readonly #limits: RateLimits
  readonly #exchange: Exchange

  constructor(
    limits: RateLimits,
    exchange: Exchange,
    principal: Principal,
    refusals: RefusalLog | undefined,
  ) {
    this.#limits = limits
    this.#exchange = exchange
    this.principal = principal
    this.onError = refusals && ((error, path) => refusals(error, exchange, path))
  }

  get credential(): CredentialHeaders | undefined {
    return credentialOf(this.#exchange, this.principal)
  }

  draw(requests: number): Awaitable<undefined> {
    return this.#limits.draw(this.principal, this.#exchange, requests)
  }

  drawForReply(text: string): Awaitable<undefined> {
    return this.#limits.drawForReply(this.principal, this.#exchange, text)
  }

  remaining(): RateLimit | undefined {
    return this.#exchange.budget
  }
}

/** Draws from the rate limit of a WebSocket's caller; messages have no headers. */
class SocketAccount implements Account, RateLimited {
  headerLines = ''
  budget: RateLimit | undefined
  readonly principal: Principal
  readonly credential: CredentialHeaders | undefined
  readonly onError: OnError | undefined
  readonly #parts: Pick<LazyGraphqlParts, 'limits' | 'refresh' | 'refusals'>

  constructor(
    parts: Pick<LazyGraphqlParts, 'limits' | 'refresh' | 'refusals'>,
    principal: Principal,
    credential: CredentialHeaders | undefined,
  ) {
    this.#parts = parts
    const { refusals } = parts
    const request = { requestId: undefined, userId: principal.userId, path: graphqlPath }
    this.onError = refusals && ((error, path) => refusals(error, request, path))
    this.principal = principal
    this.credential = credential
  }

  draw(requests: number): Awaitable<undefined> {
    const { limits, refresh } = this.#parts
    return then(refresh(), () => limits.draw(this.principal, this, requests))
  }

  drawForReply(text: string): Awaitable<undefined> {
    return this.#parts.limits.drawForReply(this.principal, this, text)
  }

  remaining(): RateLimit | undefined {
    return this.budget
  }
}
