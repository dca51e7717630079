/**
 * Connections that another process accepted. Before this process ends, each connection moves to its successor between two
 * requests, so that no request is lost and none is answered by the older process.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ServerSocket } from './server-socket.ts'

/**
 * Stops reading, so that the next owner of the socket gets what arrives from now on: Node would keep reading while it sends
 * a socket to another process, and drop the bytes. Returns false if the socket is closed.
 */
export function stopReading(socket: ServerSocket): boolean {
  if (socket.destroyed || typeof socket._handle?.readStop !== 'function') return false
  socket._handle.readStop()
  return true
}

export class MovingConnections {
  /** Open connections, with the number of bytes read at the end of the last request; undefined during a request. */
  readonly #open = new Map<Socket, number | undefined>()
  #transfer: ((socket: Socket) => void) | undefined
  #allTransferred = Promise.withResolvers<void>()

  readonly #server: Server
  readonly #onAccept: (socket: Socket) => void

  constructor(server: Server, onAccept: (socket: Socket) => void) {
    this.#server = server
    this.#onAccept = onAccept
    // From this event on, Node tracks which connections are idle.
    server.emit('listening')
    server.prependListener('request', (req, res) => this.#onRequest(req, res))
    server.prependListener('upgrade', (_req, socket) => void this.#open.delete(socket as Socket))
  }

  /** Serves the requests of a connection. */
  accept(socket: Socket): void {
    this.#open.set(socket, 0)
    socket.once('close', () => this.#onEnd(socket))
    this.#onAccept(socket)
    this.#server.emit('connection', socket)
    // It may have been accepted after all others were transferred.
    setImmediate(() => this.#transferIdle(socket))
  }

  /** Transfers each connection as soon as no request is running on it. Resolves when none is left. */
  transferAll(transfer: (socket: Socket) => void): Promise<void> {
    this.#transfer = transfer
    this.#allTransferred = Promise.withResolvers()
    for (const socket of this.#open.keys()) this.#transferIdle(socket)
    if (this.#open.size === 0) this.#allTransferred.resolve()
    return this.#allTransferred.promise
  }

  /** Stops the transfer: the remaining connections stay. */
  cancelTransfer(): void {
    this.#transfer = undefined
  }

  #onRequest(req: IncomingMessage, res: ServerResponse): void {
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
      // Node finishes its own work on the response first.
      setImmediate(() => this.#transferIdle(socket))
    })
  }

  #transferIdle(socket: Socket & ServerSocket): void {
    if (!this.#transfer || !this.#open.has(socket) || this.#open.get(socket) !== socket.bytesRead) return
    if (socket._httpMessage || socket.writableLength > 0 || !stopReading(socket)) return
    this.#onEnd(socket)
    // Otherwise Node's server would wait for this socket when it closes, although another process has it.
    Reflect.deleteProperty(socket, 'server')
    this.#transfer(socket)
  }

  #onEnd(socket: Socket): void {
    this.#open.delete(socket)
    if (this.#transfer && this.#open.size === 0) this.#allTransferred.resolve()
  }
}
