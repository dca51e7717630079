/**
 * Operations over WebSocket: the protocol `graphql-transport-ws`
 * (https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md).
 */
import { CloseCode, GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws'
import type { WebSocket } from 'ws'
import { stoppingRefusal } from '../../../base/errors.ts'
import { isAnonymous } from '../../../base/principal.ts'
import { goingAway } from './websocket-close.ts'
import { type Caller, type ConnectionParts, WebSocketConnection } from './websocket-connection.ts'
import { createHandshake, type Handshake, type UpgradeRequest } from './websocket-handshake.ts'

/** `credential`: from the headers of the request. */
export interface Upgrade extends UpgradeRequest, Omit<Caller, 'release'> {}

const pingIntervalMs = 15_000
/** How long a client may take to send `connection_init`. */
const initTimeoutMs = 5_000
const initCheckIntervalMs = 1_000
/** How long a client may take to answer a close frame when the service stops. */
const closeTimeoutMs = 1_000

/** All WebSocket connections of this process. */
export class WebSockets {
  readonly #parts: ConnectionParts
  readonly #handshake: Handshake
  readonly #open = new Set<WebSocketConnection>()
  readonly #uninitialised = new Set<WebSocketConnection>()
  readonly #timers: readonly NodeJS.Timeout[]
  #isClosed = false

  constructor(parts: ConnectionParts, maxMessageBytes: number) {
    this.#parts = parts
    this.#handshake = createHandshake(maxMessageBytes)
    this.#timers = [
      setInterval(() => this.#pingAll(), pingIntervalMs).unref(),
      setInterval(() => this.#closeUninitialised(), initCheckIntervalMs).unref(),
    ]
  }

  /** Throws RATE_LIMITED when the caller has the maximum number of connections. */
  upgrade(upgrade: Upgrade): void {
    if (this.#isClosed) throw stoppingRefusal()
    const release = this.#parts.connectionQuota.take(upgrade.principal)
    try {
      const socket = this.#handshake(upgrade)
      if (socket) this.#add(socket, { ...upgrade, release })
      else release()
    } catch (error) {
      release()
      throw error
    }
  }

  /** Closes up to `count` idle connections, those without a credential first. Returns how many it has closed. */
  closeIdle(count: number): number {
    const idle = [...this.#open].filter(connection => connection.isIdle)
    const anonymous = idle.filter(({ principal: { access } }) => isAnonymous(access))
    const identified = idle.filter(({ principal: { access } }) => !isAnonymous(access))
    const closing = [...anonymous, ...identified].slice(0, count)
    for (const connection of closing) connection.closeIdle()
    return closing.length
  }

  /** Closes every connection, and accepts no more. */
  close(): void {
    this.#isClosed = true
    for (const timer of this.#timers) clearInterval(timer)
    for (const connection of this.#open) {
      connection.closeWithin(closeTimeoutMs, goingAway, 'The service is stopping')
    }
  }

  #add(socket: WebSocket, caller: Caller): void {
    if (socket.protocol !== GRAPHQL_TRANSPORT_WS_PROTOCOL) {
      socket.on('error', () => {}).on('close', caller.release)
      return void socket.close(CloseCode.SubprotocolNotAcceptable, 'Subprotocol not acceptable')
    }
    const connection = new WebSocketConnection(this.#parts, socket, caller)
    this.#open.add(connection)
    this.#uninitialised.add(connection)
    this.#parts.metrics.connections++
    socket.on('close', () => {
      this.#open.delete(connection)
      this.#uninitialised.delete(connection)
      this.#parts.metrics.connections--
      connection.onClosed()
    })
  }

  #pingAll(): void {
    for (const connection of this.#open) connection.ping()
  }

  #closeUninitialised(): void {
    const openedBefore = performance.now() - initTimeoutMs
    for (const connection of this.#uninitialised) {
      if (connection.isInitialised) this.#uninitialised.delete(connection)
      else if (connection.openedAt < openedBefore) {
        this.#uninitialised.delete(connection)
        connection.close(CloseCode.ConnectionInitialisationTimeout, 'Connection initialisation timeout')
      }
    }
  }
}
