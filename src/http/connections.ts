/** How many connections there may be. */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** Idle connections are ended to make room no more often than this, in milliseconds. */
const PAUSE = 100

/**
 * Beyond `most`, idle connections are ended to make room; a request on one that is still too many is to be refused.
 * Beyond a tenth more, connections are ended before they say anything.
 */
export class Connections {
  readonly #server: Server
  readonly #most: number
  readonly #onOpen: () => void
  readonly #surplus = new WeakSet<Socket>()
  #open = 0
  #madeRoom = 0
  readonly counts = { refused: 0 }

  constructor(server: Server, most: number, onOpen: () => void) {
    this.#server = server
    this.#most = most
    this.#onOpen = onOpen
    // Before the server knows of it: else the new connection would be one of the idle ones.
    server.prependListener('connection', socket => this.#opened(socket))
  }

  get open(): number {
    return this.#open
  }

  /** Whether the request came on a connection that is one too many. */
  isSurplus({ socket }: IncomingMessage): boolean {
    if (this.#open <= this.#most || !this.#surplus.has(socket)) return false
    this.counts.refused++
    return true
  }

  #opened(socket: Socket): void {
    this.#open++
    this.#onOpen()
    socket.once('close', () => void this.#open--)
    if (this.#open <= this.#most) return
    if (this.#open > this.#most * 1.1 + 1) {
      this.counts.refused++
      socket.destroy()
      return
    }
    this.#surplus.add(socket)
    const now = performance.now()
    if (now - this.#madeRoom < PAUSE) return
    this.#madeRoom = now
    this.#server.closeIdleConnections()
  }
}
