/** The GraphQL face as the service uses it: loaded when it is first asked for, since a start should be short. */
import type { Duplex } from 'node:stream'
import type { Authenticate } from '../auth/authenticate.ts'
import { findCredential } from '../auth/credentials.ts'
import type { Reply } from '../call.ts'
import { type Answered, budgetAddress, type Limits } from '../cluster/limits.ts'
import { type Settings, SettingsError } from '../config.ts'
import type { CredentialHeaders } from '../graphql/clients.ts'
import type { EngineOptions } from '../graphql/create-engine.ts'
import type { RateLimit } from '../graphql/engine.ts'
import type { Account, Feed, Graphql } from '../graphql/graphql.ts'
import { path as graphqlPath } from '../graphql/http-reply.ts'
import { loadFace } from '../graphql/load.ts'
import { type Manifest, readManifest } from '../graphql/manifest.ts'
import type { Exchange } from '../http.ts'
import type { Model } from '../model/model.ts'
import { type Awaitable, then } from '../plan/answer.ts'
import type { CreateHooks, Run } from '../plan/run.ts'
import { isAnonymous, type Principal } from '../principal.ts'
import { metadataParameter } from './error-replies.ts'

export interface GraphqlFaceParts {
  readonly model: Model
  readonly run: Run
  readonly hooks: CreateHooks
  readonly changes: Feed
  readonly authenticate: Authenticate
  /** Notices what other nodes have committed: over a socket, no request has done so. */
  readonly refresh: () => Awaitable<void>
  readonly limits: Limits
  readonly settings: Settings
  /** Where the service is reached. */
  readonly issuer: () => string
  readonly onFault: (error: unknown) => void
}

export interface GraphqlFace {
  answer(exchange: Exchange, principal: Principal): Awaitable<Reply>
  upgrade(exchange: Exchange, principal: Principal, socket: Duplex, head: Buffer): Awaitable<void>
  /** Ends up to `count` WebSockets on which nothing runs, and returns how many it has ended. */
  endIdle(count: number): number
  /** For `/metrics`; nothing before the first use. */
  figures(): string
  close(): void
}

export function graphqlFace(parts: GraphqlFaceParts): GraphqlFace {
  const { limits } = parts
  const registered = registeredDocuments(parts.settings)
  let face: Graphql | undefined
  let isClosed = false
  let loading: Promise<Graphql> | undefined
  const load = () => {
    loading ??= loadGraphql(parts, registered).then(
      loaded => {
        face = loaded
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
      const account = new ExchangeAccount(limits, exchange, principal)
      return face ? face.answer(exchange, account) : load().then(loaded => loaded.answer(exchange, account))
    },
    async upgrade(exchange, principal, socket, head) {
      const loaded = face ?? (await load())
      const address = budgetAddress(exchange.address)
      const credential = credentialOf(exchange, principal)
      loaded.upgrade({ req: exchange.req, socket, head, address, credential, principal })
    },
    endIdle: count => face?.endIdle(count) ?? 0,
    figures: () => face?.figures() ?? '',
    close() {
      isClosed = true
      face?.close()
    },
  }
}

async function loadGraphql(parts: GraphqlFaceParts, registered: Manifest): Promise<Graphql> {
  const { createEngine, createGraphql } = await loadFace(parts.run)
  const { authenticate, refresh, limits, settings, changes, onFault } = parts
  return createGraphql(
    {
      engine: createEngine(engineOptions(parts)),
      feed: changes,
      identify: (headers, address) =>
        then(refresh(), () =>
          authenticate({ headers: sentHeaders(headers), query: '', proven: headers.proven }, address),
        ),
      accountOf: (principal, credential) => new SocketAccount({ limits, refresh }, principal, credential),
      challenge: () => `Bearer realm="api", ${metadataParameter(graphqlPath, parts.issuer())}`,
      onFault,
    },
    {
      documents: { mode: settings['graphql.documents'], registered },
      graphiql: settings['graphql.graphiql'],
      costPerRequest: settings['graphql.costPerRequest'],
      maxSubscriptions: settings['graphql.maxSubscriptions'],
      maxSubscriptionBytes: settings['graphql.maxSubscriptionBytes'],
      maxCallerBytes: settings['graphql.maxCallerBytes'],
      maxAnonymousConnections: share(settings['graphql.maxAnonymousConnections'], settings),
      maxConnections: share(settings['graphql.maxConnections'], settings),
      maxOperations: settings['graphql.maxOperations'],
      maxBuffered: settings['graphql.maxBuffered'],
      maxMessage: settings.bodyLimit,
    },
  )
}

/** No caller holds more than half of the connections that there may be. */
function share(most: number, { maxConnections }: Settings): number {
  return Math.min(most, Math.max(1, Math.floor(maxConnections / 2)))
}

/** A file that cannot be used stops the start. */
function registeredDocuments(settings: Settings): Manifest {
  try {
    return readManifest(settings['graphql.documentsFile'])
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new SettingsError([{ place: '`graphql.documentsFile`', message }])
  }
}

function engineOptions({ model, run, hooks, settings }: GraphqlFaceParts): EngineOptions {
  return {
    model,
    run,
    hooks,
    introspection: settings['graphql.introspection'],
    limits: {
      depth: settings['graphql.maxDepth'],
      cost: settings['graphql.maxCost'],
      aliases: settings['graphql.maxAliases'],
      tokens: settings['graphql.maxTokens'],
      listBound: settings['graphql.maxListSize'],
    },
  }
}

/** Only what is there: a header that is undefined is none. */
function sentHeaders({ authorization, 'x-api-key': key }: CredentialHeaders) {
  return {
    ...(authorization === undefined ? {} : { authorization }),
    ...(key === undefined ? {} : { 'x-api-key': key }),
  }
}

/** What a signed-in caller came with, to be asked for again. The query has lost its `api_key` by now, the URL has not. */
function credentialOf({ headers, req }: Exchange, principal: Principal): CredentialHeaders | undefined {
  if (isAnonymous(principal.access)) return undefined
  const { authorization } = headers
  if (authorization !== undefined) return { authorization, proven: true }
  const key = headers['x-api-key'] ?? keyInQuery(req.url ?? '')
  return { 'x-api-key': key === undefined ? undefined : String(key) }
}

function keyInQuery(url: string): string | undefined {
  const mark = url.indexOf('?')
  return mark === -1 ? undefined : findCredential({ headers: {}, query: url.slice(mark + 1) })?.text
}

/** Draws from the budget of an HTTP request's caller; its reply tells what is left. */
class ExchangeAccount implements Account {
  readonly principal: Principal
  readonly #limits: Limits
  readonly #exchange: Exchange

  constructor(limits: Limits, exchange: Exchange, principal: Principal) {
    this.#limits = limits
    this.#exchange = exchange
    this.principal = principal
  }

  get credential(): CredentialHeaders | undefined {
    return credentialOf(this.#exchange, this.principal)
  }

  draw(requests: number): Awaitable<undefined> {
    return this.#limits.draw(this.principal, this.#exchange, requests)
  }

  left(): RateLimit | undefined {
    return this.#exchange.budget
  }
}

/** The same for an operation over a WebSocket, whose messages have no headers. */
class SocketAccount implements Account, Answered {
  added = ''
  budget: RateLimit | undefined
  readonly principal: Principal
  readonly credential: CredentialHeaders | undefined
  readonly #parts: Pick<GraphqlFaceParts, 'limits' | 'refresh'>

  constructor(
    parts: Pick<GraphqlFaceParts, 'limits' | 'refresh'>,
    principal: Principal,
    credential: CredentialHeaders | undefined,
  ) {
    this.#parts = parts
    this.principal = principal
    this.credential = credential
  }

  draw(requests: number): Awaitable<undefined> {
    const { limits, refresh } = this.#parts
    return then(refresh(), () => limits.draw(this.principal, this, requests))
  }

  left(): RateLimit | undefined {
    return this.budget
  }
}
