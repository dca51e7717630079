/** The HTTP server: connections, bounds and timeouts. `serve.ts` decides what a request means. */

import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { basePathOf } from '../../base/base-path.ts'
import type { Call, Reply, Takeover } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import type { Settings } from '../config/config.ts'
import { AdmissionControl, type AdmissionSettings } from './admission.ts'
import { addressReader } from './client-address.ts'
import { type CorkedReplies, corkReplies } from './corked-replies.ts'
import { crossOrigin, isPreflight, preflight } from './cors.ts'
import { Exchange } from './exchange.ts'
import { headersIn } from './header-block.ts'
import { HostedRequests, isAnswering, joinDuplicates, requireRoot, requireUnread } from './hosted.ts'
import { Listeners } from './listeners.ts'
import { MovingConnections } from './moving-connections.ts'
import { guardNextTick } from './next-tick-guard.ts'
import {
  type ArrivalTimeouts,
  createNodeServer,
  createRequestHandler,
  type HandleRequest,
  type ServerSettings,
  wantsSocket,
} from './node-server.ts'
import { publicReplies } from './public-reply.ts'
import { endWith, rawResponse, unreadableCall } from './raw-response.ts'
import { checkFraming, checkTarget } from './request-target.ts'
import { createSend, type Send } from './send.ts'

export type { Exchange } from './exchange.ts'

export interface HttpParts {
  /** Answers a request. `errorReply` turns what it throws into a reply. */
  readonly answer: (exchange: Exchange) => Reply | Takeover | Promise<Reply | Takeover>
  readonly errorReply: (error: unknown, call: Call) => Reply
  readonly sockets?: Sockets
  /** Called after a reply. `bytes`: the length of its body, undefined for a stream. */
  readonly onSent: (exchange: Exchange, status: number, bytes: number | undefined) => void
  /** Called when overload begins or ends. `refused`: how many requests were refused. */
  readonly onOverload?: (isOverloaded: boolean, refused: number) => void
  /** In which time a request must arrive; shorter ones, for tests. */
  readonly timeouts?: ArrivalTimeouts
  /** Called with an error whose details clients must not see. */
  readonly onFault: (error: unknown, exchange: Exchange) => void
}

/** Opens WebSockets. */
export interface Sockets {
  readonly paths: ReadonlySet<string>
  /** Takes over the connection of an upgrade request. Errors that it throws become replies. */
  readonly upgrade: (exchange: Exchange, socket: Duplex, head: Buffer) => Promise<void>
  /** Closes up to `count` idle WebSockets, and returns how many. */
  readonly endIdle?: (count: number) => number
}

export interface HttpServer {
  readonly server: Server
  /** Answers a request that another HTTP/1.1 server of this process has read. */
  readonly handler: HandleRequest
  /** The same for a request to upgrade. */
  readonly upgrade: (req: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** `shared`: other threads of this process listen on the same port. */
  listen(shared?: boolean): Promise<void>
  /** Serves connections that another process accepts. */
  movingConnections(): MovingConnections
  /** The port that it listens on. */
  port(): number
  /** How many requests are being answered. */
  running(): number
  readonly admission: AdmissionControl
  /** Lets every connection end with its next response. */
  drain(): void
  /** Stops accepting, waits up to `shutdown.grace` for running requests, then ends every connection. */
  close(): Promise<void>
}

type HttpSettings = AdmissionSettings &
  ServerSettings &
  Pick<Settings, 'cors' | 'host' | 'port' | 'shutdown' | 'trustProxy'> &
  Partial<Pick<Settings, 'baseUrl'>>

const commonHeaders = ['API-Version', '1', 'X-Content-Type-Options', 'nosniff']

export function createHttp(settings: HttpSettings, parts: HttpParts): HttpServer {
  guardNextTick()
  return new Http(settings, parts)
}

class Http implements HttpServer {
  readonly admission: AdmissionControl
  readonly #settings: HttpSettings
  readonly #parts: HttpParts
  readonly server: Server
  readonly handler: HandleRequest
  readonly #hosted = new HostedRequests()
  readonly #listeners: Listeners
  readonly #addressOf: (peer: string | undefined, forwarded: string | undefined) => string
  /** See `base-path.ts`. */
  readonly #basePath: string
  readonly #publicReply: (reply: Reply) => Reply
  /** Flat headers of every response. */
  readonly #constant: readonly string[]
  readonly #send: Send
  readonly #replies: CorkedReplies
  /** Sockets that Node's server no longer tracks. */
  readonly #handedOut = new Set<Duplex>()
  #closing = false
  #moving: MovingConnections | undefined
  #running = 0

  constructor(settings: HttpSettings, parts: HttpParts) {
    this.#settings = settings
    this.#parts = parts
    this.#basePath = basePathOf(settings.baseUrl)
    this.#publicReply = publicReplies(this.#basePath)
    this.#addressOf = addressReader(settings.trustProxy)
    this.#constant = settings.cors ? [...commonHeaders, ...crossOrigin] : commonHeaders
    this.#send = createSend({
      constant: this.#constant,
      keepAliveSeconds: settings.keepAliveTimeout / 1000,
      onFault: (error, exchange) => this.#report(error, exchange),
    })
    this.#replies = corkReplies(
      (exchange, reply) => this.#sendNow(exchange, reply),
      (exchange, error) => this.#sendFailed(exchange, error),
    )
    this.server = createNodeServer(settings, {
      handle: createRequestHandler(
        (req, res) => this.admission.admit(this.#exchangeOf(req, res)),
        this.#basePath,
      ),
      refuse: (error, socket) => this.#refuseUnread(error, socket),
      upgrade: (req, socket, head) => this.#upgrade(req, socket, head),
      sockets: parts.sockets?.paths,
      basePath: this.#basePath,
      timeouts: parts.timeouts,
    })
    const handleRequest = createRequestHandler(
      (req, res) => this.admission.admit(this.#exchangeOf(req, res, true)),
      this.#basePath,
    )
    this.handler = (req, res) => {
      joinDuplicates(req)
      this.#hosted.add(res)
      handleRequest(req, res)
    }
    this.#listeners = new Listeners(this.server)
    this.admission = new AdmissionControl(this.server, settings, {
      errorReply: parts.errorReply,
      onOverload: parts.onOverload,
      run: exchange => this.#run(exchange),
      endIdle: parts.sockets?.endIdle,
      refuse: (exchange, reply) => this.#replies.queue(exchange, reply),
      sendReplies: this.#replies.sendAll,
    })
  }

  running(): number {
    return this.#running
  }

  listen(shared = false): Promise<void> {
    return this.#listeners.open(this.#settings, shared)
  }

  movingConnections(): MovingConnections {
    this.#moving ??= new MovingConnections(this.server, socket => this.#hosted.add(socket))
    return this.#moving
  }

  port(): number {
    return (this.server.address() as AddressInfo | null)?.port ?? this.#settings.port
  }

  drain(): void {
    this.#closing = true
  }

  async close(): Promise<void> {
    this.#closing = true
    const server = this.server
    const end = () => {
      server.closeAllConnections()
      this.#hosted.destroyAll()
      for (const socket of this.#handedOut) socket.destroy()
    }
    const timer = setTimeout(end, this.#settings.shutdown.grace)
    // The connection of a stream that ends during the shutdown becomes idle, since its headers have allowed keep-alive.
    const idle = setInterval(() => server.closeIdleConnections(), 50)
    await Promise.all([this.#listeners.close(), this.#hosted.ended()])
    clearInterval(idle)
    clearTimeout(timer)
  }

  readonly upgrade = (req: IncomingMessage, socket: Duplex, head: Buffer): void => {
    joinDuplicates(req)
    this.#hosted.add(socket)
    const paths = this.#parts.sockets?.paths
    if (isAnswering(socket)) socket.destroy()
    else if (paths !== undefined && wantsSocket(req, paths, this.#basePath)) this.#upgrade(req, socket, head)
    else this.#refuseUnread(noSocket(), socket)
  }

  #exchangeOf(req: IncomingMessage, res: ServerResponse, isHosted = false): Exchange {
    const forwarded = req.headers['x-forwarded-for']
    const from = typeof forwarded === 'string' ? forwarded : undefined
    return new Exchange(req, res, this.#addressOf(req.socket.remoteAddress, from), isHosted)
  }

  #run(exchange: Exchange): void {
    this.#running++
    try {
      checkFraming(exchange)
      checkTarget(exchange.req)
      if (exchange.isHosted) requireHosted(exchange, this.#basePath)
      if (this.#settings.cors && isPreflight(exchange)) {
        this.#replies.queue(exchange, preflight)
        return
      }
      const answer = this.#parts.answer(exchange)
      if (!(answer instanceof Promise)) this.#deliver(exchange, answer)
      else answer.then(reply => this.#deliver(exchange, reply)).catch(error => this.#fail(exchange, error))
    } catch (error) {
      this.#fail(exchange, error)
    }
  }

  #deliver(exchange: Exchange, answer: Reply | Takeover): void {
    if ('takeOver' in answer) this.#takeOver(exchange, answer)
    else this.#replies.queue(exchange, answer)
  }

  #sendNow(exchange: Exchange, internal: Reply): void {
    const reply = this.#publicReply(internal)
    const bytes = this.#send(exchange, reply, this.#closing || exchange.closesConnection)
    // A refusal must be cheap: it is neither logged nor counted as a request.
    if (exchange.isRefused) {
      this.admission.refusalSent(exchange)
      return
    }
    if (bytes !== undefined) this.admission.slowClients.watch(exchange.res)
    this.#running--
    this.#parts.onSent(exchange, reply.status, bytes)
  }

  #sendFailed(exchange: Exchange, error: unknown): void {
    this.#parts.onFault(error, exchange)
    try {
      this.#sendNow(exchange, this.#parts.errorReply(error, exchange))
    } catch {
      exchange.res.destroy()
    }
  }

  #fail(exchange: Exchange, error: unknown): void {
    this.#replies.queue(exchange, this.#errorReply(error, exchange))
  }

  #errorReply(error: unknown, exchange: Exchange): Reply {
    this.#report(error, exchange)
    return this.#parts.errorReply(error, exchange)
  }

  #report(error: unknown, exchange: Exchange): void {
    if (!(error instanceof ApiError) || error.status >= 500) this.#parts.onFault(error, exchange)
  }

  #takeOver(exchange: Exchange, { takeOver }: Takeover): void {
    const { res } = exchange
    const done = () => {
      this.#running--
      this.#parts.onSent(exchange, res.statusCode, undefined)
    }
    exchange.prepareResponse(this.#constant)
    takeOver().then(done, error => {
      if (!res.headersSent) return this.#fail(exchange, error)
      this.#parts.onFault(error, exchange)
      res.destroy()
      done()
    })
  }

  #upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#handOut(socket)
    const exchange = this.#exchangeOf(req, new ServerResponse(req))
    const parts = this.#parts
    const constant = this.#constant
    const refusal = this.admission.refusalOfUpgrade(exchange)
    if (refusal) {
      endWith(socket, rawResponse(refusal, constant, exchange.requestId))
      return
    }
    const fail = (error: unknown) => {
      const reply = this.#errorReply(error, exchange)
      endWith(
        socket,
        rawResponse(reply, [...constant, ...headersIn(exchange.headerLines)], exchange.requestId),
      )
      parts.onSent(exchange, reply.status, undefined)
    }
    this.#openSocket(exchange, socket, head)
      .then(() => parts.onSent(exchange, 101, undefined))
      .catch(fail)
  }

  async #openSocket(exchange: Exchange, socket: Duplex, head: Buffer): Promise<void> {
    checkTarget(exchange.req)
    const { sockets } = this.#parts
    if (!sockets?.paths.has(exchange.path)) {
      throw noSocket()
    }
    await sockets.upgrade(exchange, socket, head)
  }

  #handOut(socket: Duplex): void {
    // Until another module takes the socket over, an unhandled `error` event would end the process.
    socket.on('error', () => {})
    this.admission.connections.stopTracking(socket)
    this.#handedOut.add(socket)
    socket.once('close', () => this.#handedOut.delete(socket))
  }

  #refuseUnread(error: ApiError, socket: Duplex): void {
    this.#handOut(socket)
    const call = unreadableCall()
    endWith(socket, rawResponse(this.#parts.errorReply(error, call), this.#constant, call.requestId))
  }
}

function noSocket(): ApiError {
  return new ApiError('NOT_FOUND', 'This path does not open WebSockets.')
}

/** Throws for a request that the program's server has passed on incorrectly. */
function requireHosted({ req, hasBody }: Exchange, basePath: string): void {
  requireRoot(req, basePath)
  requireUnread(req, hasBody)
}
