/** Node's HTTP server with Portico's bounds and timeouts, and what it does with upgrades, malformed requests and CONNECT. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ApiError } from '../../base/errors.ts'
import type { Settings } from '../config/config.ts'
import { socketOptions } from './listeners.ts'
import { oneAtATime } from './pipelining.ts'
import { parserError, unknownMethod } from './raw-response.ts'
import { useOriginForm } from './request-target.ts'
import type { ServerSocket } from './server-socket.ts'
import { isStreaming } from './stream-body.ts'

export type ServerSettings = Pick<Settings, 'bodyLimit' | 'keepAliveTimeout'>

/** In which time a request must arrive. */
export interface ArrivalTimeouts {
  readonly headersMs: number
  readonly requestMs: number
}

/** Of the request line and headers together. */
const maxHeaderBytes = 16 * 1024

/** A body may take one second longer for each 64 KiB beyond the first MiB. */
function arrivalTimeouts({ bodyLimit }: ServerSettings): ArrivalTimeouts {
  const largeBytes = Math.max(0, bodyLimit - 1024 * 1024)
  return { headersMs: 10_000, requestMs: 30_000 + Math.ceil((largeBytes / (64 * 1024)) * 1000) }
}

export type HandleRequest = (req: IncomingMessage, res: ServerResponse) => void

export interface Handlers {
  /** Made by `createRequestHandler`. */
  readonly handle: HandleRequest
  readonly refuse: (error: ApiError, socket: Duplex) => void
  readonly upgrade: (req: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** The paths at which WebSockets are opened; undefined: none. */
  readonly sockets: ReadonlySet<string> | undefined
  /** See `base-path.ts`. */
  readonly basePath: string
  /** Shorter ones, for tests. */
  readonly timeouts?: ArrivalTimeouts | undefined
}

function wantsUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/**
 * Whether the request opens a WebSocket (RFC 6455, 4.1). Every other upgrade is ignored, as RFC 9110, 7.8 allows; Node
 * before 24.9 cannot ignore one, and passes it on too. A handshake while earlier requests of the connection are still
 * being answered is ignored, because its response would overtake theirs.
 */
export function wantsSocket(req: IncomingMessage, paths: ReadonlySet<string>, basePath: string): boolean {
  useOriginForm(req, basePath)
  const { method, url = '' } = req
  const { _httpMessage: response }: ServerSocket = req.socket
  const path = url.split('?', 1)[0] ?? ''
  return method === 'GET' && wantsUpgrade(req) && paths.has(path) && !response
}

/** Wraps `handle` with the first steps of every request, whether Portico's server or the program's own has read it. */
export function createRequestHandler(handle: HandleRequest, basePath: string): HandleRequest {
  return oneAtATime((req, res) => {
    useOriginForm(req, basePath)
    // Node drops requests that were pipelined behind an ignored upgrade, so the connection ends after this response.
    // Not for clients that offer HTTP/2 (h2c): they do so with every request, and do not pipeline.
    if (req.headers.upgrade !== undefined && wantsUpgrade(req)) res.shouldKeepAlive = false
    handle(req, res)
  })
}

export function createNodeServer(
  settings: ServerSettings,
  { handle, refuse, upgrade, sockets, basePath, timeouts = arrivalTimeouts(settings) }: Handlers,
): Server {
  const server = createServer(
    {
      joinDuplicateHeaders: true,
      requireHostHeader: false,
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      keepAliveTimeout: settings.keepAliveTimeout,
      ...socketOptions,
      connectionsCheckingInterval: Math.min(5000, timeouts.headersMs / 2),
      shouldUpgradeCallback: req => sockets !== undefined && wantsSocket(req, sockets, basePath),
    },
    handle,
  )
  // A client that has ended its side may still read: its requests are answered (RFC 9112, 9.6).
  Object.assign(server, { httpAllowHalfOpen: true })
  if (sockets) server.on('upgrade', upgrade)
  server.on('checkContinue', handle).on('checkExpectation', handle)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Node reports it once for each request. The stream has a bound of its own.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isStreaming(socket)) return
    if (error.code === 'ECONNRESET' || socket.destroyed) socket.destroy()
    else refuse(parserError(error), socket)
  })
  server.on('connect', (_req, socket: Duplex) => refuse(unknownMethod(), socket))
  return server
}
