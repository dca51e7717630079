/**
 * Connections that another process accepted. Before this process ends, each moves on to its successor between two requests,
 * so that no request is lost and none is answered by the older process.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Node keeps the response that a socket is busy with, and the system's handle, here. */
interface OpenSocket extends Socket {
  readonly _httpMessage?: ServerResponse | null
  readonly _handle?: { readStop?(): void } | null
}

/**
 * Stops reading, so that the next owner of the socket gets what arrives from now on: Node would keep reading while it sends
 * a socket to another process, and drop the bytes. Returns false if the socket is closed.
 */
export function stopReading(socket: OpenSocket): boolean {
  if (socket.destroyed || typeof socket._handle?.readStop !== 'function') return false
  socket._handle.readStop()
  return true
}

export class MovingConnections {
  /** With the bytes that had been read at the end of the last request; undefined within one. */
  readonly #open = new Map<OpenSocket, number | undefined>()
  #give: ((socket: Socket) => void) | undefined
  #gone = Promise.withResolvers<void>()

  readonly #server: Server
  readonly #onAccept: (socket: Socket) => void

  constructor(server: Server, onAccept: (socket: Socket) => void) {
    this.#server = server
    this.#onAccept = onAccept
    // Node notes from this event on which connections are idle.
    server.emit('listening')
    server.prependListener('request', (req, res) => this.#began(req, res))
    server.prependListener('upgrade', (_req, socket) => void this.#open.delete(socket as Socket))
  }

  /** Serves the requests of a connection. */
  accept(socket: Socket): void {
    this.#open.set(socket, 0)
    socket.once('close', () => this.#ended(socket))
    this.#onAccept(socket)
    this.#server.emit('connection', socket)
    // It may have been accepted after all others were given away.
    setImmediate(() => this.#giveIdle(socket))
  }

  /** Gives each connection away as soon as no request is running on it. Resolves when none is left. */
  giveAway(give: (socket: Socket) => void): Promise<void> {
    this.#give = give
    this.#gone = Promise.withResolvers()
    for (const socket of this.#open.keys()) this.#giveIdle(socket)
    if (this.#open.size === 0) this.#gone.resolve()
    return this.#gone.promise
  }

  /** Keeps the remaining connections after all. */
  keep(): void {
    this.#give = undefined
  }

  #began(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req
    if (!this.#open.has(socket)) return
    this.#open.set(socket, undefined)
    let readBytes = socket.bytesRead
    req.once('end', () => {
      readBytes = socket.bytesRead
    })
    res.once('finish', () => {
      if (!this.#open.has(socket)) return
      this.#open.set(socket, req.complete && res.shouldKeepAlive ? readBytes : undefined)
      // Node ends its own work on the response first.
      setImmediate(() => this.#giveIdle(socket))
    })
  }

  #giveIdle(socket: OpenSocket): void {
    if (!this.#give || !this.#open.has(socket) || this.#open.get(socket) !== socket.bytesRead) return
    if (socket._httpMessage || socket.writableLength > 0 || !stopReading(socket)) return
    this.#ended(socket)
    // Otherwise Node's server would wait for this socket when it closes, although another process has it.
    Reflect.deleteProperty(socket, 'server')
    this.#give(socket)
  }

  #ended(socket: Socket): void {
    this.#open.delete(socket)
    if (this.#give && this.#open.size === 0) this.#gone.resolve()
  }
}
