/** How many connections there may be. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Where all connections are busy, it is not looked for idle ones more often than this, in milliseconds. */
const PAUSE = 100
/** A new connection has so long to begin its first request before it counts as idle, in milliseconds. */
const FIRST_REQUEST = 1000

export interface ConnectionsOptions {
  readonly most: number
  readonly onOpen: () => void
  /** Ends up to `count` connections that were handed out and are idle; returns how many it has ended. */
  readonly endIdle: (count: number) => number
}

/** Node keeps the response that a socket is busy with here. */
interface BusySocket extends Duplex {
  readonly _httpMessage?: ServerResponse | null
  readonly bytesWritten?: number
}

/**
 * Beyond `most`, idle connections end, the oldest first, to make room; a request on one that is still too many is to
 * be refused. Beyond a tenth more, connections are ended before they say anything.
 */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #surplus = new WeakSet<Socket>()
  /** Those of HTTP, with the time since which each is open. */
  readonly #http = new Map<BusySocket, number>()
  #open = 0
  #nextLook = 0
  readonly counts = { refused: 0 }

  constructor(server: Server, options: ConnectionsOptions) {
    this.#options = options
    // Before the server knows of it.
    server.prependListener('connection', socket => this.#opened(socket))
  }

  get open(): number {
    return this.#open
  }

  /** Whether the request came on a connection that is one too many. */
  isSurplus({ socket }: IncomingMessage): boolean {
    if (this.#open <= this.#options.most || !this.#surplus.has(socket)) return false
    this.counts.refused++
    return true
  }

  /** The connection is no longer one of HTTP: whoever has it knows whether it is idle. */
  handedOut(socket: Duplex): void {
    this.#http.delete(socket)
  }

  #opened(socket: Socket): void {
    this.#open++
    this.#options.onOpen()
    socket.once('close', () => {
      this.#open--
      this.#http.delete(socket)
    })
    const { most } = this.#options
    const now = performance.now()
    if (this.#open > most) this.#makeRoom(now)
    if (this.#open > most * 1.1 + 1) {
      this.counts.refused++
      socket.destroy()
      return
    }
    if (this.#open > most) this.#surplus.add(socket)
    this.#http.set(socket, now)
  }

  /** Some more than are needed now, since others will come. */
  #makeRoom(now: number): void {
    if (now < this.#nextLook) return
    const { most, endIdle } = this.#options
    const needed = this.#open - most + Math.ceil(most / 100)
    const ended = endIdle(needed)
    if (ended + this.#endIdleHttp(needed - ended, now) < needed) this.#nextLook = now + PAUSE
  }

  #endIdleHttp(count: number, now: number): number {
    let ended = 0
    for (const [socket, since] of this.#http) {
      if (ended >= count) break
      if (!isIdle(socket, now - since)) continue
      socket.destroy()
      ended++
    }
    return ended
  }
}

/** No request is under way, and the first one was answered, or does not come. `age`: in milliseconds. */
function isIdle({ _httpMessage: busyWith, bytesWritten = 0 }: BusySocket, age: number): boolean {
  return !busyWith && (bytesWritten > 0 || age > FIRST_REQUEST)
}
