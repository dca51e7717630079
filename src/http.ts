/** The HTTP server: connections, bounds and timeouts. What a request means is decided in `serve.ts`. */
import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Call, Reply, TakenOver } from './call.ts'
import type { Settings } from './config.ts'
import { ApiError } from './errors.ts'
import { addressReader } from './http/address.ts'
import { crossOrigin, isPreflight, preflight } from './http/cors.ts'
import { Doors } from './http/doors.ts'
import { Exchange } from './http/exchange.ts'
import { Gate, type GateParts, type GateSettings } from './http/gate.ts'
import { headersIn } from './http/head.ts'
import { inOneGo, type Outbox } from './http/in-one-go.ts'
import { createNodeServer, type ServerSettings } from './http/node-server.ts'
import { endWith, rawResponse, unreadableCall } from './http/raw-error.ts'
import { createSend, type Send } from './http/send.ts'
import { keepTicksSteady } from './http/steady-ticks.ts'
import { checkTarget } from './http/target.ts'

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
  /** Ends up to `count` of them on which nothing runs, and returns how many it has ended. */
  readonly endIdle?: (count: number) => number
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
  ServerSettings &
  Pick<Settings, 'bodyLimit' | 'cors' | 'host' | 'port' | 'shutdownGrace' | 'trustProxy'>

const everyAnswer = ['API-Version', '1', 'X-Content-Type-Options', 'nosniff']

/** As cheap as can be: no line in the log, no credential, nobody's budget. */
function refusalsInOneGo(
  send: (exchange: Exchange, reply: Reply, ends: boolean) => void,
): GateParts['refusals'] {
  const failed = ({ res }: Exchange) => void res.destroy()
  // A short body comes with its head: at the end of the turn it is there, and the connection can live on.
  const outbox = (ends: boolean) => inOneGo((exchange, reply) => send(exchange, reply, ends), failed, false)
  const [others, lastOnes] = [outbox(false), outbox(true)]
  return {
    put: (exchange, reply, ends) => (ends ? lastOnes : others).put(exchange, reply),
    sendAll() {
      others.sendAll()
      lastOnes.sendAll()
    },
  }
}

export function createHttp(settings: HttpSettings, parts: HttpParts): HttpServer {
  keepTicksSteady()
  return new Http(settings, parts)
}

class Http implements HttpServer {
  readonly gate: Gate
  readonly #settings: HttpSettings
  readonly #parts: HttpParts
  readonly server: Server
  readonly #doors: Doors
  readonly #addressOf: (peer: string | undefined, forwarded: string | undefined) => string
  /** Flat headers of every answer. */
  readonly #constant: readonly string[]
  readonly #send: Send
  readonly #outbox: Outbox
  /** Of which Node no longer knows. */
  readonly #handedOut = new Set<Duplex>()
  #closing = false
  #running = 0

  constructor(settings: HttpSettings, parts: HttpParts) {
    this.#settings = settings
    this.#parts = parts
    this.#addressOf = addressReader(settings.trustProxy)
    this.#constant = settings.cors ? [...everyAnswer, ...crossOrigin] : everyAnswer
    this.#send = createSend({ constant: this.#constant, keepAlive: settings.keepAliveTimeout })
    this.#outbox = inOneGo(
      (exchange, reply) => this.#sendNow(exchange, reply),
      (exchange, error) => this.#sendFailed(exchange, error),
    )
    this.server = createNodeServer(settings, {
      handle: (req, res) => this.gate.pass(this.#exchangeOf(req, res)),
      refuse: (error, socket) => this.#refuseUnread(error, socket),
      upgrade: (req, socket, head) => this.#upgrade(req, socket, head),
      sockets: parts.sockets?.paths,
    })
    this.#doors = new Doors(this.server)
    this.gate = new Gate(this.server, settings, {
      errorReply: parts.errorReply,
      onOverload: parts.onOverload,
      run: exchange => this.#run(exchange),
      endIdle: parts.sockets?.endIdle,
      refusals: refusalsInOneGo((exchange, reply, ends) => this.#refuse(exchange, reply, ends)),
    })
  }

  running(): number {
    return this.#running
  }

  listen(shared = false): Promise<void> {
    return this.#doors.open(this.#settings, shared)
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
      for (const socket of this.#handedOut) socket.destroy()
    }
    const timer = setTimeout(end, this.#settings.shutdownGrace * 1000)
    // A stream that ends now has promised to keep its connection.
    const idle = setInterval(() => server.closeIdleConnections(), 50)
    await this.#doors.close()
    clearInterval(idle)
    clearTimeout(timer)
  }

  #exchangeOf(req: IncomingMessage, res: ServerResponse): Exchange {
    const forwarded = req.headers['x-forwarded-for']
    const from = typeof forwarded === 'string' ? forwarded : undefined
    return new Exchange(req, res, this.#addressOf(req.socket.remoteAddress, from))
  }

  #run(exchange: Exchange): void {
    this.#running++
    try {
      checkTarget(exchange.req)
      if (this.#settings.cors && isPreflight(exchange)) {
        this.#outbox.put(exchange, preflight)
        return
      }
      const made = this.#parts.answer(exchange)
      if (!(made instanceof Promise)) this.#answered(exchange, made)
      else made.then(later => this.#answered(exchange, later)).catch(error => this.#fail(exchange, error))
    } catch (error) {
      this.#fail(exchange, error)
    }
  }

  #answered(exchange: Exchange, made: Reply | TakenOver): void {
    if ('takeOver' in made) this.#takeOver(exchange, made)
    else this.#outbox.put(exchange, made)
  }

  #sendNow(exchange: Exchange, reply: Reply): void {
    const bytes = this.#send(exchange, reply, this.#closing)
    if (bytes !== undefined) this.gate.readers.answered(exchange.res)
    this.#running--
    this.#parts.onSent(exchange, reply.status, bytes)
  }

  #refuse(exchange: Exchange, reply: Reply, ends: boolean): void {
    const began = performance.now()
    this.#send(exchange, reply, ends || this.#closing)
    if (exchange.res.shouldKeepAlive) {
      this.gate.backpressure.refused(exchange.req.socket, performance.now() - began)
    }
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
    this.#outbox.put(exchange, this.#errorReply(error, exchange))
  }

  #errorReply(error: unknown, exchange: Exchange): Reply {
    if (!(error instanceof ApiError) || error.status >= 500) this.#parts.onFault(error, exchange)
    return this.#parts.errorReply(error, exchange)
  }

  #takeOver(exchange: Exchange, { takeOver }: TakenOver): void {
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
    if (this.gate.refusesUpgrade(exchange)) {
      endWith(socket, rawResponse(this.gate.refusal(exchange), constant, exchange.requestId))
      return
    }
    const failed = (error: unknown) => {
      const refused = this.#errorReply(error, exchange)
      endWith(socket, rawResponse(refused, [...constant, ...headersIn(exchange.added)], exchange.requestId))
      parts.onSent(exchange, refused.status, undefined)
    }
    this.#openSocket(exchange, socket, head)
      .then(() => parts.onSent(exchange, 101, undefined))
      .catch(failed)
  }

  async #openSocket(exchange: Exchange, socket: Duplex, head: Buffer): Promise<void> {
    checkTarget(exchange.req)
    const { sockets } = this.#parts
    if (!sockets?.paths.has(exchange.path)) {
      throw new ApiError('NOT_FOUND', 'No WebSocket is opened here.')
    }
    await sockets.upgrade(exchange, socket, head)
  }

  #handOut(socket: Duplex): void {
    // Until somebody takes the socket over, nobody hears of its faults.
    socket.on('error', () => {})
    this.gate.connections.handedOut(socket)
    this.#handedOut.add(socket)
    socket.once('close', () => this.#handedOut.delete(socket))
  }

  #refuseUnread(error: ApiError, socket: Duplex): void {
    this.#handOut(socket)
    const call = unreadableCall()
    endWith(socket, rawResponse(this.#parts.errorReply(error, call), this.#constant, call.requestId))
  }
}
