/** The listening socket. It outlives the serving processes: connections wait here until a process is ready. */
import { createServer, type Server, type Socket } from 'node:net'
import { socketOptions } from '../../server/http/listeners.ts'

/** The maximum number of waiting connections. Further ones are closed. */
const maxWaiting = 1000

export type TakeConnection = (socket: Socket) => void

export class ListeningSocket {
  #server: Server | undefined
  #host = ''
  #requestedPort = 0
  #take: TakeConnection | undefined
  readonly #waiting = new Set<Socket>()

  /** The port that the socket listens on; 0 if it does not listen yet. */
  get port(): number {
    const address = this.#server?.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** Listens at this address instead of the earlier one. If that fails, rejects and keeps the earlier one. */
  async listen(host: string, port: number): Promise<void> {
    if (this.#server && host === this.#host && port === this.#requestedPort) return
    const server = createServer({ ...socketOptions, pauseOnConnect: true, allowHalfOpen: true }, socket =>
      this.accept(socket),
    )
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port }, () => {
        // A connection that cannot be accepted, e.g. for lack of file descriptors, must not end the process.
        server.off('error', reject).on('error', () => {})
        resolve()
      })
    })
    this.#server?.close()
    this.#server = server
    this.#host = host
    this.#requestedPort = port
  }

  /** Passes waiting connections to `take`, and from now on new ones too. */
  pass(take: TakeConnection): void {
    this.#take = take
    for (const socket of this.#waiting) {
      this.#waiting.delete(socket)
      socket.removeAllListeners('close')
      take(socket)
    }
  }

  /** Makes new connections wait. */
  hold(): void {
    this.#take = undefined
  }

  close(): void {
    this.#server?.close()
    for (const socket of this.#waiting) socket.destroy()
  }

  /** Accepts a new connection, or one that a process gave back. */
  accept(socket: Socket): void {
    socket.on('error', () => socket.destroy())
    if (this.#take) this.#take(socket)
    else if (this.#waiting.size >= maxWaiting) socket.destroy()
    else {
      this.#waiting.add(socket)
      socket.once('close', () => this.#waiting.delete(socket))
    }
  }
}
