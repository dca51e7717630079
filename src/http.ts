/** The HTTP server: connections, bounds and timeouts. What a request means is decided in `serve.ts`. */
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Call, Reply, TakenOver } from './call.ts'
import type { Settings } from './config.ts'
import { ApiError } from './errors.ts'
import { addressReader } from './http/address.ts'
import { Doors, socketOptions } from './http/doors.ts'
import { Exchange } from './http/exchange.ts'
import { Gate, type GateParts, type GateSettings } from './http/gate.ts'
import { endWith, parserError, rawResponse, unknownMethod, unreadableCall } from './http/raw-error.ts'
import { createSend } from './http/send.ts'
import { keepTicksSteady } from './http/steady-ticks.ts'

export type { Exchange } from './http/exchange.ts'

export interface HttpParts {
  /** Answers a request. What it throws becomes a reply by `errorReply`. */
  readonly answer: (exchange: Exchange) => Reply | TakenOver | Promise<Reply | TakenOver>
  readonly errorReply: (error: unknown, call: Call) => Reply
  readonly sockets?: Sockets
  /** A reply was sent; `bytes` of its body, undefined when it is streamed. */
  readonly onSent: (exchange: Exchange, status: number, bytes: number | undefined) => void
  /** Requests are refused from now on, since too many come, or no longer. */
  readonly onOverload?: (isOver: boolean, refused: number) => void
  /** An error that no client may see. */
  readonly onFault: (error: unknown, exchange: Exchange) => void
}

/** Who takes WebSockets. */
export interface Sockets {
  readonly paths: ReadonlySet<string>
  /** Takes over the connection of a request for one. What it throws becomes a reply. */
  readonly upgrade: (exchange: Exchange, socket: Duplex, head: Buffer) => Promise<void>
}

export interface HttpServer {
  readonly server: Server
  /** `shared`: others may listen on the same port. */
  listen(shared?: boolean): Promise<void>
  /** The port that it listens on. */
  port(): number
  /** How many requests are not answered yet. */
  running(): number
  readonly gate: Gate
  /** From now on every connection ends with its next answer. */
  drain(): void
  /** Stops accepting, waits for what runs at most `shutdownGrace`, then ends every connection. */
  close(): Promise<void>
}

type HttpSettings = GateSettings &
  Pick<
    Settings,
    | 'bodyLimit'
    | 'cors'
    | 'headersTimeout'
    | 'host'
    | 'keepAliveTimeout'
    | 'maxHeaderSize'
    | 'port'
    | 'requestTimeout'
    | 'shutdownGrace'
    | 'trustProxy'
  >

const everyAnswer = ['API-Version', '1', 'X-Content-Type-Options', 'nosniff']
const crossOrigin = ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', '*']

/** Fetch standard, 3.3.2: the answer to a browser's question whether it may send the request. */
const preflight: Reply = {
  status: 204,
  headers: [
    'Access-Control-Allow-Methods',
    'GET, HEAD, POST, PUT, PATCH, DELETE',
    'Access-Control-Allow-Headers',
    'Authorization, DPoP, X-API-Key, Content-Type, Accept, If-Match, If-None-Match, X-Request-Id, Apollo-Require-Preflight, X-Requested-With',
    'Access-Control-Max-Age',
    '86400',
    'Cache-Control',
    'no-store',
  ],
  body: null,
}

function isPreflight({ method, headers }: Exchange): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}

/** RFC 9112, 3.2: exactly one Host. The server joins a header that came twice with a comma. */
function checkRequestLine(exchange: Exchange): void {
  const { host } = exchange.headers
  if (host === undefined ? exchange.req.httpVersion !== '1.0' : host.includes(',')) {
    throw new ApiError('BAD_REQUEST', 'The request needs exactly one `Host` header.')
  }
  if (!exchange.path.startsWith('/') && exchange.path !== '*') {
    throw new ApiError('BAD_REQUEST', 'The path must begin with a slash.')
  }
}

type Sender = (exchange: Exchange, reply: Reply) => void

/**
 * Sends all that one turn of the event loop has answered at its end, in one go: readers that wait are woken
 * once for many replies, not for each (`decisions/replies-in-one-go.md`).
 */
function inOneGo(
  send: Sender,
  failed: (exchange: Exchange, error: unknown) => void,
  tellsSenders = true,
): Sender {
  let waiting: { readonly exchange: Exchange; readonly reply: Reply }[] = []
  const sendAll = () => {
    const ready = waiting
    waiting = []
    for (const { exchange, reply } of ready) {
      try {
        send(exchange, reply)
      } catch (error) {
        failed(exchange, error)
      }
    }
  }
  return (exchange, reply) => {
    if (waiting.length === 0) setImmediate(sendAll)
    waiting.push({ exchange, reply })
    // A client that still sends is told at once that nobody listens.
    if (tellsSenders && exchange.isUnread) sendAll()
  }
}

/** As cheap as can be: no line in the log, no credential, nobody's budget. */
function createRefuse(send: GateParts['refuse']): GateParts['refuse'] {
  const failed = ({ res }: Exchange) => void res.destroy()
  // A short body comes with its head: at the end of the turn it is there, and the connection can live on.
  const refuse = (ends: boolean) => inOneGo((exchange, reply) => send(exchange, reply, ends), failed, false)
  const [refuseOnly, refuseAndEnd] = [refuse(false), refuse(true)]
  return (exchange, reply, ends) => (ends ? refuseAndEnd : refuseOnly)(exchange, reply)
}

export function createHttp(settings: HttpSettings, parts: HttpParts): HttpServer {
  const addressOf = addressReader(settings.trustProxy)
  const constant = settings.cors ? [...everyAnswer, ...crossOrigin] : everyAnswer
  keepTicksSteady()
  const send = createSend({ constant, keepAlive: settings.keepAliveTimeout })
  let closing = false
  let running = 0

  const sendNow = (exchange: Exchange, made: Reply) => {
    const bytes = send(exchange, made, closing)
    if (bytes !== undefined) gate.readers.answered(exchange.res)
    running--
    parts.onSent(exchange, made.status, bytes)
  }
  const reply = inOneGo(sendNow, (exchange, error) => {
    parts.onFault(error, exchange)
    try {
      sendNow(exchange, parts.errorReply(error, exchange))
    } catch {
      exchange.res.destroy()
    }
  })
  const fail = (exchange: Exchange, error: unknown) => {
    if (!(error instanceof ApiError) || error.status >= 500) parts.onFault(error, exchange)
    reply(exchange, parts.errorReply(error, exchange))
  }
  const takeOver = (exchange: Exchange, made: TakenOver) => {
    const { res } = exchange
    const done = () => {
      running--
      parts.onSent(exchange, res.statusCode, undefined)
    }
    exchange.prepareResponse(constant)
    made.takeOver().then(done, error => {
      if (!res.headersSent) return fail(exchange, error)
      parts.onFault(error, exchange)
      res.destroy()
      done()
    })
  }
  const answered = (exchange: Exchange, made: Reply | TakenOver) =>
    'takeOver' in made ? takeOver(exchange, made) : reply(exchange, made)
  const exchangeOf = (req: IncomingMessage, res: ServerResponse) => {
    const forwarded = req.headers['x-forwarded-for']
    const address = addressOf(req.socket.remoteAddress, typeof forwarded === 'string' ? forwarded : undefined)
    return new Exchange(req, res, address)
  }
  const handle = (exchange: Exchange) => {
    running++
    try {
      checkRequestLine(exchange)
      if (settings.cors && isPreflight(exchange)) return reply(exchange, preflight)
      const made = parts.answer(exchange)
      if (!(made instanceof Promise)) return answered(exchange, made)
      made.then(later => answered(exchange, later)).catch(error => fail(exchange, error))
    } catch (error) {
      fail(exchange, error)
    }
  }
  const refuseUnread = (error: ApiError, socket: Duplex) => {
    const call = unreadableCall()
    endWith(socket, rawResponse(parts.errorReply(error, call), constant, call.requestId))
  }
  const upgrade = (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Until somebody takes the socket over, nobody hears of its faults.
    socket.on('error', () => {})
    const exchange = exchangeOf(req, new ServerResponse(req))
    const failed = (error: unknown) => {
      if (!(error instanceof ApiError) || error.status >= 500) parts.onFault(error, exchange)
      const refused = parts.errorReply(error, exchange)
      endWith(socket, rawResponse(refused, [...constant, ...exchange.added], exchange.requestId))
      parts.onSent(exchange, refused.status, undefined)
    }
    try {
      if (gate.refusesUpgrade(exchange)) {
        return endWith(socket, rawResponse(gate.refusal(exchange), constant, exchange.requestId))
      }
      checkRequestLine(exchange)
      if (!parts.sockets?.paths.has(exchange.path))
        throw new ApiError('NOT_FOUND', 'No WebSocket is opened here.')
      parts.sockets
        .upgrade(exchange, socket, head)
        .then(() => parts.onSent(exchange, 101, undefined))
        .catch(failed)
    } catch (error) {
      failed(error)
    }
  }
  const server = createNodeServer(settings, {
    handle: (req, res) => gate.pass(exchangeOf(req, res)),
    refuse: refuseUnread,
    upgrade,
    sockets: parts.sockets,
  })
  const doors = new Doors(server)
  const gate = new Gate(server, settings, {
    errorReply: parts.errorReply,
    onOverload: parts.onOverload,
    run: handle,
    refuse: createRefuse((exchange, made, ends) => void send(exchange, made, ends || closing)),
  })
  return {
    server,
    gate,
    running: () => running,
    listen: (shared = false) => doors.open(settings, shared),
    port: () => (server.address() as AddressInfo | null)?.port ?? settings.port,
    drain() {
      closing = true
    },
    async close() {
      closing = true
      const timer = setTimeout(() => server.closeAllConnections(), settings.shutdownGrace * 1000)
      // A stream that ends now has promised to keep its connection.
      const idle = setInterval(() => server.closeIdleConnections(), 50)
      await doors.close()
      clearInterval(idle)
      clearTimeout(timer)
    },
  }
}

interface Handlers {
  readonly handle: (req: IncomingMessage, res: ServerResponse) => void
  readonly refuse: (error: ApiError, socket: Duplex) => void
  readonly upgrade: (req: IncomingMessage, socket: Duplex, head: Buffer) => void
  readonly sockets: Sockets | undefined
}

/**
 * RFC 6455, 4.1. Every other wish to upgrade is ignored, as RFC 9110, 7.8 allows; Node before 24.9 cannot
 * ignore one, and hands it over too.
 */
function wantsSocket({ method, headers, url = '' }: IncomingMessage, { paths }: Sockets): boolean {
  const path = url.split('?', 1)[0] ?? ''
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && paths.has(path)
}

function createNodeServer(settings: HttpSettings, { handle, refuse, upgrade, sockets }: Handlers): Server {
  const server = createServer(
    {
      joinDuplicateHeaders: true,
      requireHostHeader: false,
      maxHeaderSize: settings.maxHeaderSize,
      headersTimeout: settings.headersTimeout * 1000,
      requestTimeout: settings.requestTimeout * 1000,
      keepAliveTimeout: settings.keepAliveTimeout * 1000,
      ...socketOptions,
      connectionsCheckingInterval: Math.min(5000, settings.headersTimeout * 500),
      shouldUpgradeCallback: req => sockets !== undefined && wantsSocket(req, sockets),
    },
    handle,
  )
  if (sockets) server.on('upgrade', upgrade)
  server.on('checkContinue', handle).on('checkExpectation', handle)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET' || socket.destroyed) socket.destroy()
    else refuse(parserError(error), socket)
  })
  server.on('connect', (_req, socket: Duplex) => refuse(unknownMethod(), socket))
  return server
}
