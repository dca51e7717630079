/**
 * Operations over WebSocket: the protocol `graphql-transport-ws`
 * (https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md).
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { CloseCode, GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws'
import { type WebSocket, WebSocketServer } from 'ws'
import { ApiError } from '../errors.ts'
import type { Principal } from '../principal.ts'
import type { CredentialHeaders } from './clients.ts'
import { Connection, type ConnectionParts } from './connection.ts'

export interface Upgrade {
  readonly req: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly address: string
  /** From the request's headers, where it had one. */
  readonly credential: CredentialHeaders | undefined
  readonly principal: Principal
}

export interface WebSockets {
  upgrade(upgrade: Upgrade): void
  /** Ends every connection with 1001. */
  close(): void
}

/** Milliseconds between two pings, and for the first message to come. */
const PING = 15_000
const INIT = 5_000
/** How long a client may take to say goodbye at the end. */
const CLOSING = 1_000

export function createWebSockets(parts: ConnectionParts, maxMessage: number): WebSockets {
  const open = new Set<Connection>()
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxMessage,
    perMessageDeflate: false,
    handleProtocols: protocols =>
      protocols.has(GRAPHQL_TRANSPORT_WS_PROTOCOL) ? GRAPHQL_TRANSPORT_WS_PROTOCOL : false,
  })
  const heartbeat = setInterval(() => {
    for (const connection of open) connection.beat()
  }, PING).unref()
  const waiting = new Set<Connection>()
  const impatience = setInterval(() => {
    const late = performance.now() - INIT
    for (const connection of waiting) {
      if (connection.isReady) waiting.delete(connection)
      else if (connection.since < late) {
        waiting.delete(connection)
        connection.end(CloseCode.ConnectionInitialisationTimeout, 'Connection initialisation timeout')
      }
    }
  }, 1000).unref()

  let isClosed = false
  const begin = (socket: WebSocket, { address, credential, principal }: Upgrade) => {
    if (socket.protocol !== GRAPHQL_TRANSPORT_WS_PROTOCOL) {
      socket.on('error', () => {})
      return socket.close(CloseCode.SubprotocolNotAcceptable, 'Subprotocol not acceptable')
    }
    const connection = new Connection(parts, socket, { address, credential, principal })
    open.add(connection)
    waiting.add(connection)
    parts.figures.connections++
    socket.on('close', () => {
      open.delete(connection)
      waiting.delete(connection)
      parts.figures.connections--
      connection.closed()
    })
  }
  return {
    upgrade(upgrade) {
      if (isClosed) throw new ApiError('UNAVAILABLE', 'The service is stopping.')
      const { req, socket, head } = upgrade
      server.handleUpgrade(req, socket, head, accepted => begin(accepted, upgrade))
    },
    close() {
      isClosed = true
      clearInterval(heartbeat)
      clearInterval(impatience)
      for (const connection of open) connection.leave(1001, 'The service is stopping', CLOSING)
    },
  }
}
