/** A bound on open connections. */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ServerSocket } from './server-socket.ts'

/** If all connections are busy, the search for idle ones is repeated at most this often. */
const searchIntervalMs = 100
/** A new connection counts as idle if its first request has not begun after this time. */
const firstRequestMs = 1000

export interface ConnectionLimitOptions {
  readonly maxConnections: number
  /** Ends up to `count` idle connections that no longer speak HTTP. Returns how many it has ended. */
  readonly endIdle: (count: number) => number
}

/**
 * Beyond `maxConnections`, idle connections are closed, the oldest first. If that is not enough, new connections are
 * surplus, and requests on them must be refused. 10 % beyond it, new connections are closed at once.
 */
export class ConnectionLimit {
  readonly #options: ConnectionLimitOptions
  readonly #surplus = new WeakSet<Socket>()
  /** Connections that speak HTTP, with the time at which each was opened. */
  readonly #http = new Map<ServerSocket, number>()
  #open = 0
  #nextSearch = 0
  readonly counts = { refused: 0 }

  constructor(server: Server, options: ConnectionLimitOptions) {
    this.#options = options
    // Before the server's own listener, which a connection that is closed at once must not reach.
    server.prependListener('connection', socket => this.#onOpen(socket))
  }

  get open(): number {
    return this.#open
  }

  /** Whether the request came on a surplus connection. */
  isSurplus({ socket }: IncomingMessage): boolean {
    if (this.#open <= this.#options.maxConnections || !this.#surplus.has(socket)) return false
    this.counts.refused++
    return true
  }

  /** The connection no longer speaks HTTP: `endIdle` decides whether it is idle. */
  stopTracking(socket: Duplex): void {
    this.#http.delete(socket)
  }

  #onOpen(socket: Socket): void {
    this.#open++
    socket.once('close', () => {
      this.#open--
      this.#http.delete(socket)
    })
    const { maxConnections } = this.#options
    const now = performance.now()
    if (this.#open > maxConnections) this.#closeIdle(now)
    if (this.#open > maxConnections * 1.1 + 1) {
      this.counts.refused++
      socket.destroy()
      return
    }
    if (this.#open > maxConnections) this.#surplus.add(socket)
    this.#http.set(socket, now)
  }

  /** Closes idle connections: the surplus and 1 % more, since more connections will come. */
  #closeIdle(now: number): void {
    if (now < this.#nextSearch) return
    const { maxConnections, endIdle } = this.#options
    const needed = this.#open - maxConnections + Math.ceil(maxConnections / 100)
    const ended = endIdle(needed)
    if (ended + this.#endIdleHttp(needed - ended, now) < needed) this.#nextSearch = now + searchIntervalMs
  }

  #endIdleHttp(count: number, now: number): number {
    let ended = 0
    for (const [socket, openedAt] of this.#http) {
      if (ended >= count) break
      if (!isIdle(socket, now - openedAt)) continue
      socket.destroy()
      ended++
    }
    return ended
  }
}

/** Whether no request is being answered, and the first request was answered or does not come. */
function isIdle({ _httpMessage: response, bytesWritten = 0 }: ServerSocket, ageMs: number): boolean {
  return !response && (bytesWritten > 0 || ageMs > firstRequestMs)
}
