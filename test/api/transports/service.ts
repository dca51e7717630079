/** GraphQL on its own port, with a stub engine. */
import { hash } from 'node:crypto'
import { type Client, createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { createEvents, type EventsParts } from '../../../src/api/events/events.ts'
import { createGraphql, type Graphql, type GraphqlSettings } from '../../../src/api/graphql/graphql.ts'
import { errorReply } from '../../../src/api/graphql/transports/http-reply.ts'
import { readSettings } from '../../../src/server/config/config.ts'
import { createHttp, type Exchange } from '../../../src/server/http/http.ts'
import { type StubFeed, stubFeed } from '../events/stub.ts'
import { type StubAccounts, type StubEngine, stubAccounts, stubEngine } from './stub.ts'

export interface Service {
  readonly url: string
  readonly socketUrl: string
  readonly graphql: Graphql
  readonly engine: StubEngine
  readonly feed: StubFeed
  readonly accounts: StubAccounts
  readonly faults: unknown[]
  /** Idempotent. */
  close(): Promise<void>
}

export type ServiceSettings = GraphqlSettings &
  Pick<EventsParts, 'maxAnonymousConnections' | 'maxConnections' | 'maxDistinctSubscriptions'>

export const defaults: ServiceSettings = {
  documents: { mode: 'any', registered: new Map() },
  explorer: (_call, { styles, scripts }) => ({
    html: `${styles.map(href => `<link href="${href}">`)}${scripts.map(src => `<script src="${src}"></script>`)}`,
    images: [],
  }),
  costPerRequest: 100,
  maxSubscriptions: 1000,
  maxSubscriptionBytes: 100_000,
  maxCallerBytes: 1_000_000,
  maxAnonymousConnections: 1000,
  maxConnections: 1000,
  maxDistinctSubscriptions: 200,
  maxOperations: 5,
  maxBufferedBytes: 65_536,
  maxMessageBytes: 100_000,
}

export async function openService(overrides: Partial<ServiceSettings> = {}): Promise<Service> {
  const engine = stubEngine()
  const feed = stubFeed()
  const accounts = stubAccounts()
  const faults: unknown[] = []
  const { identify } = accounts
  const onFault = (error: unknown) => faults.push(error)
  const settings = { ...defaults, ...overrides }
  const events = createEvents({ ...settings, feed, identify, onFault })
  const graphql = createGraphql(
    {
      engine,
      events,
      identify,
      idempotency: { hasReply: () => Promise.resolve(false), answer: (_call, _principal, write) => write() },
      accountOf: accounts.account,
      challenge: () => 'Bearer realm="api"',
      onFault,
    },
    settings,
  )
  const who = ({ headers, address }: Exchange) => {
    const { authorization } = headers
    const credential = authorization === undefined ? undefined : { authorization }
    return { credential, principal: accounts.identify(credential ?? {}, address) }
  }
  const http = createHttp(readSettings({ given: { port: 0, host: '127.0.0.1' } }), {
    answer: async exchange => {
      const { principal, credential } = who(exchange)
      await exchange.readBody(1_000_000)
      return graphql.answer(exchange, accounts.account(principal, credential))
    },
    sockets: {
      paths: new Set(['/graphql']),
      upgrade: async (exchange, socket, head) => {
        graphql.upgrade({ req: exchange.req, socket, head, address: exchange.address, ...who(exchange) })
      },
      endIdle: graphql.endIdle,
    },
    errorReply,
    onSent: () => {},
    onFault,
  })
  await http.listen()
  let closed: Promise<void> | undefined
  const place = `127.0.0.1:${http.port()}/graphql`
  return {
    url: `http://${place}`,
    socketUrl: `ws://${place}`,
    graphql,
    engine,
    feed,
    accounts,
    faults,
    close() {
      if (closed === undefined) {
        graphql.close()
        events.hub.close()
      }
      closed ??= http.close()
      return closed
    },
  }
}

export const json = { 'Content-Type': 'application/json' }
export const spec = { ...json, Accept: 'application/graphql-response+json' }
export const ada = { Authorization: 'Bearer ada' }

export function post(url: string, body: unknown, headers: Record<string, string> = json): Promise<Response> {
  return fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })
}

export function sha256(text: string): string {
  return hash('sha256', text, 'hex')
}

/** The unmodified client of graphql-ws. */
export function client(url: string, credential?: Record<string, unknown>): Client {
  return createClient({
    url,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: true,
    ...(credential ? { connectionParams: credential } : {}),
  })
}

export async function until(condition: () => boolean, milliseconds = 60_000): Promise<void> {
  const end = performance.now() + milliseconds
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not fulfilled after ${milliseconds} ms: ${condition}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

/** A WebSocket that sends and records raw messages. */
export interface RawWebSocket {
  readonly socket: WebSocket
  readonly messages: string[]
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  send(message: unknown): void
}

export function openWebSocket(
  url: string,
  protocol: string | undefined = 'graphql-transport-ws',
  headers = {},
): Promise<RawWebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, protocol === '' ? [] : [protocol], { headers })
    const messages: string[] = []
    socket.on('message', data => messages.push(String(data)))
    const closed = new Promise<{ code: number; reason: string }>(resolve => {
      socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }))
    })
    const send = (message: unknown) =>
      socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message))
    socket.on('open', () => resolve({ socket, messages, closed, send }))
    socket.on('error', reject)
  })
}
