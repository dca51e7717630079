/** The GraphQL face: HTTP, server-sent events and WebSocket, over one engine. */
import type { Call, Reply } from '../call.ts'
import type { Awaitable } from '../plan/answer.ts'
import type { Principal } from '../principal.ts'
import { Clients, type CredentialHeaders, type Identify } from './clients.ts'
import { type DocumentSettings, Documents } from './documents.ts'
import type { Engine } from './engine.ts'
import type { Feed } from './feed.ts'
import { Figures } from './figures.ts'
import { graphiqlAsset, graphiqlPage } from './graphiql.ts'
import { createAnswer } from './http.ts'
import { assetsPath } from './http-reply.ts'
import type { Account } from './operation.ts'
import { ConnectionQuota, SubscriptionQuota } from './quota.ts'
import { Hub } from './subscriptions.ts'
import { createWebSockets, type Upgrade } from './websocket.ts'

export type { Feed, LoggedChange } from './feed.ts'
export type { Account } from './operation.ts'
export type { Upgrade } from './websocket.ts'

export interface GraphqlSettings {
  readonly documents: DocumentSettings
  readonly graphiql: boolean
  /** Points of cost that draw one request from the budget. */
  readonly costPerRequest: number
  /** Open subscriptions of one user, or of one address without a credential. */
  readonly maxSubscriptions: number
  /** Bytes that one subscription, and that all of one caller, may keep. */
  readonly maxSubscriptionBytes: number
  readonly maxCallerBytes: number
  /** WebSockets and streams of events of one address without a credential, and of one user. */
  readonly maxAnonymousConnections: number
  readonly maxConnections: number
  /** Operations at once on one connection. */
  readonly maxOperations: number
  /** Bytes that may wait for a reader. */
  readonly maxBuffered: number
  /** Bytes of one WebSocket message. */
  readonly maxMessage: number
}

export interface GraphqlParts {
  readonly engine: Engine
  readonly feed: Feed
  /** The principal of a credential. Fails with UNAUTHORIZED. */
  readonly identify: Identify
  /** The account of operations that come over a WebSocket. */
  readonly accountOf: (principal: Principal, credential: CredentialHeaders | undefined) => Account
  /** `WWW-Authenticate` of an answer that lacks something for want of a credential (RFC 6750, 3). */
  readonly challenge: () => string
  readonly onFault: (error: unknown) => void
}

export interface Graphql {
  answer(call: Call, account: Account): Awaitable<Reply>
  /** Throws RATE_LIMITED where the caller has as many connections as one may. */
  upgrade(upgrade: Upgrade): void
  /** Ends up to `count` WebSockets on which nothing runs, and returns how many it has ended. */
  endIdle(count: number): number
  /** For `/metrics`. */
  figures(): string
  /** Ends every subscription and every connection. */
  close(): void
}

/** What credentials hang on: a change of these is looked at before anything else is delivered. */
const credentialCollections = ['api_keys', 'users']

export function createGraphql(parts: GraphqlParts, settings: GraphqlSettings): Graphql {
  const { engine, feed, identify, onFault } = parts
  const clients = new Clients(identify, onFault)
  const beforeDelivery = (collections: ReadonlySet<string>) =>
    credentialCollections.some(name => collections.has(name)) ? clients.check() : undefined
  const hub = new Hub({ engine, feed, beforeDelivery, onFault })
  const figures = new Figures()
  const documents = new Documents(settings.documents)
  const quota = new SubscriptionQuota(settings)
  const connectionQuota = new ConnectionQuota(settings.maxAnonymousConnections, settings.maxConnections)
  const page = settings.graphiql ? graphiqlPage : undefined
  const all = { ...parts, ...settings, documents, figures, hub, clients, quota, connectionQuota, page }
  const answer = createAnswer(all)
  const sockets = createWebSockets(all, settings.maxMessage)
  return {
    answer: (call, account) =>
      call.path.startsWith(assetsPath) ? graphiqlAsset(call) : answer(call, account),
    upgrade: sockets.upgrade,
    endIdle: sockets.endIdle,
    figures: () => figures.text(),
    close() {
      sockets.close()
      hub.close()
    },
  }
}
