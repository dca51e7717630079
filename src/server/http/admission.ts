/** Admission control: which requests are served, which wait, and which are refused with 503 and `Retry-After`. */
import type { Server } from 'node:http'
import { type Call, isHealthCheck, type Reply } from '../../base/call.ts'
import type { Settings } from '../config/config.ts'
import { ConnectionLimit } from './connection-limit.ts'
import type { Exchange } from './exchange.ts'
import { LoadShedder } from './load-shedder.ts'
import { createOverloadReplies } from './overload-reply.ts'
import type { ServerSocket } from './server-socket.ts'
import { maxUnreadBytes, readTimeoutMs, SlowClients } from './slow-clients.ts'

export type AdmissionSettings = Pick<Settings, 'maxConnections' | 'maxDelay' | 'workers'>

export interface AdmissionParts {
  readonly errorReply: (error: unknown, call: Call) => Reply
  readonly onOverload?: ((isOverloaded: boolean, refused: number) => void) | undefined
  readonly run: (exchange: Exchange) => void
  /** Sends the reply to a refused request at the end of this turn of the event loop. */
  readonly refuse: (exchange: Exchange, reply: Reply) => void
  /** Sends the replies that wait for the end of the turn. */
  readonly sendReplies: () => void
  /** Ends up to `count` taken-over connections on which nothing runs, and returns how many it has ended. */
  readonly endIdle?: ((count: number) => number) | undefined
}

/**
 * A refusal costs 20 to 40 µs, including reading and parsing, and clients that retry immediately cause the next one. So
 * only this many refused connections per window are read again at once. The others are not read for as long as the
 * shortest `Retry-After`.
 */
const refusalWindowMs = 100
const maxRefusalsPerWindow = 300
const unreadMs = 1000

export class AdmissionControl {
  readonly shedder: LoadShedder<Exchange>
  readonly connections: ConnectionLimit
  readonly slowClients: SlowClients
  readonly #parts: AdmissionParts
  readonly #overloadReply: (call: Call) => Reply
  readonly #bodyArrived = () => this.shedder.bodyArrived()
  #windowBegan = 0
  #refusedInWindow = 0

  constructor(server: Server, settings: AdmissionSettings, parts: AdmissionParts) {
    this.#parts = parts
    this.#overloadReply = createOverloadReplies(parts.errorReply)
    this.shedder = new LoadShedder({
      maxDelayMs: settings.maxDelay,
      run: parts.run,
      refuse: exchange => this.#refuse(exchange),
      beforeSlice: parts.sendReplies,
      onChange: parts.onOverload,
    })
    this.connections = new ConnectionLimit(server, {
      maxConnections: settings.maxConnections,
      endIdle: parts.endIdle ?? (() => 0),
    })
    this.slowClients = new SlowClients({
      timeoutMs: readTimeoutMs,
      maxBytes: Math.ceil(maxUnreadBytes / settings.workers),
    })
  }

  /** Runs the exchange, queues it, or refuses it. */
  admit(exchange: Exchange): void {
    if (isHealthCheck(exchange.path)) this.#parts.run(exchange)
    else if (this.connections.isSurplus(exchange.req)) {
      exchange.closesConnection = true
      this.#refuse(exchange)
    } else {
      exchange.bodyArrived = this.#bodyArrived
      this.shedder.submit(exchange)
    }
  }

  /** The reply to a refused request for a WebSocket; undefined if the WebSocket may be opened. */
  refusalOfUpgrade(exchange: Exchange): Reply | undefined {
    const isRefused = this.shedder.isOverloaded || this.connections.isSurplus(exchange.req)
    return isRefused ? this.#overloadReply(exchange) : undefined
  }

  /** Called when a refusal was sent. */
  refusalSent({ req, res, start }: Exchange): void {
    if (start - this.#windowBegan > refusalWindowMs) {
      this.#windowBegan = start
      this.#refusedInWindow = 0
    }
    this.#refusedInWindow++
    if (this.#refusedInWindow > maxRefusalsPerWindow && res.shouldKeepAlive) pauseReading(req.socket)
  }

  #refuse(exchange: Exchange): void {
    exchange.isRefused = true
    this.#parts.refuse(exchange, this.#overloadReply(exchange))
  }
}

function pauseReading(socket: ServerSocket): void {
  socket._handle?.readStop()
  setTimeout(() => socket._handle?.readStart(), unreadMs).unref()
}
