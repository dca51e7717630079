/** The listening socket. It outlives the serving processes: connections wait here until a process is ready. */
import { createServer, type Server, type Socket } from 'node:net'
import { socketOptions } from '../http/listeners.ts'

/** The maximum number of waiting connections. Further ones are closed. */
const maxHeld = 1000

export type TakeConnection = (socket: Socket) => void

export class Front {
  #server: Server | undefined
  #host = ''
  #wantedPort = 0
  #take: TakeConnection | undefined
  readonly #held = new Set<Socket>()

  /** The port that it listens on; 0 if it does not listen yet. */
  get port(): number {
    const address = this.#server?.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** Listens at this address instead of the earlier one. If that fails, rejects and keeps the earlier one. */
  async listen(host: string, port: number): Promise<void> {
    if (this.#server && host === this.#host && port === this.#wantedPort) return
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
    this.#wantedPort = port
  }

  /** Passes waiting connections to `take`, and from now on new ones too. */
  pass(take: TakeConnection): void {
    this.#take = take
    for (const socket of this.#held) {
      this.#held.delete(socket)
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
    for (const socket of this.#held) socket.destroy()
  }

  /** Accepts a new connection, or one that a process gave back. */
  accept(socket: Socket): void {
    socket.on('error', () => socket.destroy())
    if (this.#take) this.#take(socket)
    else if (this.#held.size >= maxHeld) socket.destroy()
    else {
      this.#held.add(socket)
      socket.once('close', () => this.#held.delete(socket))
    }
  }
}
