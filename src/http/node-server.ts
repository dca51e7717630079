/** Node's server with our bounds and timeouts, and what becomes of that which is no plain request. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Settings } from '../config.ts'
import type { ApiError } from '../errors.ts'
import { socketOptions } from './doors.ts'
import { parserError, unknownMethod } from './raw-error.ts'

export type ServerSettings = Pick<
  Settings,
  'headersTimeout' | 'keepAliveTimeout' | 'maxHeaderSize' | 'requestTimeout'
>

export interface Handlers {
  readonly handle: (req: IncomingMessage, res: ServerResponse) => void
  readonly refuse: (error: ApiError, socket: Duplex) => void
  readonly upgrade: (req: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Where WebSockets are opened; undefined: nowhere. */
  readonly sockets: ReadonlySet<string> | undefined
}

/**
 * RFC 6455, 4.1. Every other wish to upgrade is ignored, as RFC 9110, 7.8 allows; Node before 24.9 cannot
 * ignore one, and hands it over too.
 */
function wantsSocket({ method, headers, url = '' }: IncomingMessage, paths: ReadonlySet<string>): boolean {
  const path = url.split('?', 1)[0] ?? ''
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && paths.has(path)
}

export function createNodeServer(
  settings: ServerSettings,
  { handle, refuse, upgrade, sockets }: Handlers,
): Server {
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
