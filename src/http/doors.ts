/**
 * Where connections come in. Node accepts one connection of a listening socket in each turn of the event loop: with
 * a single one, a hundred clients that come at once wait for a hundred turns, which are long when there is much to
 * do. Several sockets on one port are that many doors (decisions/doors.md).
 */
import type { Server } from 'node:http'
import { createServer, type ListenOptions, type Server as NetServer } from 'node:net'

const DOORS = 64
/** How many connections may wait at each. */
const BACKLOG = 1024

/** As those of `node:http`'s own. */
export const socketOptions = {
  noDelay: true,
  // Of a client that is gone without a word the system tells after some minutes.
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
} as const

export interface Place {
  readonly port: number
  readonly host: string
}

function listenOn(server: NetServer, at: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ backlog: BACKLOG, ...at }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function closed(server: NetServer): Promise<unknown> {
  return new Promise(resolve => server.close(resolve))
}

/** Rejects where somebody else listens: with a shared port the system would not tell. */
export async function requireFree(place: Place): Promise<void> {
  const probe = createServer()
  await listenOn(probe, place)
  await closed(probe)
}

/** Rejects where several sockets cannot listen on one port. */
export async function requireSharing(host: string): Promise<void> {
  const probe = createServer()
  await listenOn(probe, { host, port: 0, reusePort: true })
  await closed(probe)
}

export class Doors {
  readonly #server: Server
  #others: readonly NetServer[] = []

  constructor(server: Server) {
    this.#server = server
  }

  /** `shared`: others of this process listen at the same place. */
  async open(place: Place, shared: boolean): Promise<void> {
    // Nobody is given a port that another one has, where any may be taken.
    if (!shared && place.port !== 0) await requireFree(place)
    try {
      await listenOn(this.#server, { ...place, reusePort: true })
    } catch (error) {
      if (shared || !isUnsupported(error)) throw error
      return listenOn(this.#server, place)
    }
    const address = this.#server.address()
    const port = typeof address === 'object' && address !== null ? address.port : place.port
    this.#others = Array.from({ length: DOORS - 1 }, () =>
      createServer({ allowHalfOpen: true, ...socketOptions }, socket =>
        this.#server.emit('connection', socket),
      ),
    )
    await Promise.all(this.#others.map(door => listenOn(door, { ...place, port, reusePort: true })))
  }

  /** Resolves when the last connection has ended. */
  async close(): Promise<void> {
    await Promise.all([closed(this.#server), ...this.#others.map(closed)])
  }
}

/** Not every system lets several sockets listen on one port. */
function isUnsupported(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOTSUP' || code === 'EINVAL' || code === 'ENOPROTOOPT'
}
