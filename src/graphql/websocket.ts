/**
 * Operations over WebSocket: the protocol `graphql-transport-ws`
 * (https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md).
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { CloseCode, GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws'
import { type WebSocket, WebSocketServer } from 'ws'
import { ApiError } from '../errors.ts'
import { isAnonymous, type Principal } from '../principal.ts'
import type { CredentialHeaders } from './clients.ts'
import { Connection, type ConnectionParts } from './connection.ts'
import type { Release } from './quota.ts'

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
  /** Throws RATE_LIMITED where the caller has as many as one may. */
  upgrade(upgrade: Upgrade): void
  /** Ends up to `count` connections on which nothing runs, those without a credential first; returns how many. */
  endIdle(count: number): number
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

  /** What was wrong with the last handshake. */
  const faults: Error[] = []
  server.on('wsClientError', error => faults.push(error))
  /** Takes the connection over. Throws BAD_REQUEST for a handshake that is broken (RFC 6455, 4.2.1). */
  const accept = ({ req, socket, head }: Upgrade): WebSocket | undefined => {
    let accepted: WebSocket | undefined
    // Calls back before it returns, or not at all: the server has no `verifyClient`.
    server.handleUpgrade(req, socket, head, opened => {
      accepted = opened
    })
    const fault = faults.pop()
    if (fault === undefined) return accepted
    const message = `The handshake for a WebSocket is broken: ${fault.message}.`
    throw new ApiError('BAD_REQUEST', message, { headers: { 'Sec-WebSocket-Version': '13' } })
  }

  let isClosed = false
  const begin = (socket: WebSocket, { address, credential, principal }: Upgrade, release: Release) => {
    if (socket.protocol !== GRAPHQL_TRANSPORT_WS_PROTOCOL) {
      socket.on('error', () => {}).on('close', release)
      return socket.close(CloseCode.SubprotocolNotAcceptable, 'Subprotocol not acceptable')
    }
    const connection = new Connection(parts, socket, { address, credential, principal, release })
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
      const release = parts.connectionQuota.take(upgrade.principal)
      try {
        const accepted = accept(upgrade)
        if (accepted) begin(accepted, upgrade, release)
        else release()
      } catch (error) {
        release()
        throw error
      }
    },
    endIdle(count) {
      const idle = [...open].filter(connection => connection.isIdle)
      const [anonymous, known] = [true, false].map(wanted =>
        idle.filter(({ principal: { access } }) => isAnonymous(access) === wanted),
      )
      const ending = [...(anonymous ?? []), ...(known ?? [])].slice(0, count)
      for (const connection of ending) connection.giveWay()
      return ending.length
    },
    close() {
      isClosed = true
      clearInterval(heartbeat)
      clearInterval(impatience)
      for (const connection of open) connection.leave(1001, 'The service is stopping', CLOSING)
    },
  }
}
