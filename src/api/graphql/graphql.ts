/** GraphQL over HTTP, server-sent events and WebSocket, with one engine. */

import type { Awaitable } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import type { Principal } from '../../base/principal.ts'
import type { Idempotency } from '../../engine/idempotency/idempotency.ts'
import type { CredentialHeaders, Identify } from '../events/credential-monitor.ts'
import type { Events } from '../events/events.ts'
import { type DocumentSettings, Documents } from './documents/stored-documents.ts'
import type { Engine } from './engine.ts'
import { SubscriptionQuota } from './limits/subscription-quota.ts'
import { GraphqlMetrics } from './metrics.ts'
import { type ExplorerFrame, graphiqlAsset, graphiqlPage } from './transports/graphiql.ts'
import { createAnswer } from './transports/http.ts'
import { assetsPath } from './transports/http-reply.ts'
import type { Account } from './transports/operation.ts'
import { type Upgrade, WebSockets } from './transports/websocket.ts'

export type { Account } from './transports/operation.ts'
export type { Upgrade } from './transports/websocket.ts'

export interface GraphqlSettings {
  readonly documents: DocumentSettings
  /** The page around GraphiQL; undefined: browsers get no page. */
  readonly explorer: ExplorerFrame | undefined
  /** How many points of cost draw one request from the budget. */
  readonly costPerRequest: number
  /** Open subscriptions of one user, or of one address without a credential. */
  readonly maxSubscriptions: number
  /** Bytes that one subscription, and that all subscriptions of one caller, may retain. */
  readonly maxSubscriptionBytes: number
  readonly maxCallerBytes: number
  /** Operations that may run on one WebSocket connection in parallel. */
  readonly maxOperations: number
  /** Bytes that may wait for the reader of one connection. */
  readonly maxBufferedBytes: number
  readonly maxMessageBytes: number
}

export interface GraphqlParts {
  readonly engine: Engine
  readonly events: Events
  readonly identify: Identify
  readonly idempotency: Idempotency
  /** The budget that operations over a WebSocket draw from. */
  readonly accountOf: (principal: Principal, credential: CredentialHeaders | undefined) => Account
  /** `WWW-Authenticate` of a reply whose fields were refused because the request had no credential (RFC 6750, 3). */
  readonly challenge: () => string
  readonly onFault: (error: unknown) => void
}

export interface Graphql {
  answer(call: Call, account: Account): Awaitable<Reply>
  /** Throws RATE_LIMITED when the caller has the maximum number of connections. */
  upgrade(upgrade: Upgrade): void
  /** Closes up to `count` idle WebSockets, and returns how many it has closed. */
  endIdle(count: number): number
  /** For `/metrics`. */
  metrics(): string
  /** Closes every WebSocket. Streams of events end with the events' hub. */
  close(): void
}

export function createGraphql(parts: GraphqlParts, settings: GraphqlSettings): Graphql {
  const { explorer } = settings
  const metrics = new GraphqlMetrics()
  const shared = {
    ...parts,
    ...parts.events,
    ...settings,
    metrics,
    documents: new Documents(settings.documents),
    quota: new SubscriptionQuota(settings),
    page: explorer && ((call: Call) => graphiqlPage(explorer, call)),
  }
  const answer = createAnswer(shared)
  const sockets = new WebSockets(shared, settings.maxMessageBytes)
  return {
    answer: (call, account) =>
      call.path.startsWith(assetsPath) ? graphiqlAsset(call) : answer(call, account),
    upgrade: upgrade => sockets.upgrade(upgrade),
    endIdle: count => sockets.closeIdle(count),
    metrics: () => metrics.text(),
    close: () => sockets.close(),
  }
}
