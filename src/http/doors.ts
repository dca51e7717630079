/**
 * Where connections come in. Node accepts one connection of a listening socket in each turn of the event loop: with
 * a single one, a hundred clients that come at once wait for a hundred turns, which are long when there is much to
 * do. Several sockets on one port are that many doors (decisions/doors.md).
 */
import type { Server } from 'node:http'
import { createServer, type ListenOptions, type Server as NetServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

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

/** How long a start waits for others that are starting on the same port, in milliseconds. */
const portLockWaitMs = 10_000

/**
 * Runs `use` while no other process of this machine looks whether the port is free, or begins to listen there: between
 * the look and the first shared socket another start would succeed as well. A name in the abstract namespace, which
 * belongs to the network namespace as ports do, ends with its process (unix(7)). Elsewhere than on Linux there is none.
 */
export async function withPortLock<T>(port: number, use: () => Promise<T>): Promise<T> {
  if (process.platform !== 'linux' || port === 0) return use()
  const lock = await portLock(port)
  try {
    return await use()
  } finally {
    await closed(lock)
  }
}

async function portLock(port: number): Promise<NetServer> {
  const until = performance.now() + portLockWaitMs
  for (;;) {
    const lock = createServer()
    try {
      await listenOn(lock, { path: `\0portico-port-${port}` })
      return lock
    } catch (error) {
      if (codeOf(error) !== 'EADDRINUSE' || performance.now() > until) throw error
      await wait(10 + Math.random() * 10)
    }
  }
}

export class Doors {
  readonly #server: Server
  #others: NetServer[] = []

  constructor(server: Server) {
    this.#server = server
  }

  /** `shared`: others of this process listen at the same place. */
  async open(place: Place, shared: boolean): Promise<void> {
    const isSharing = shared
      ? await this.#share(place)
      : await withPortLock(place.port, () => this.#first(place))
    if (!isSharing) return
    const address = this.#server.address()
    const port = typeof address === 'object' && address !== null ? address.port : place.port
    try {
      await this.#openOthers({ ...place, port })
    } catch (error) {
      // What still listens would keep the process from ending.
      await this.close()
      throw error
    }
  }

  /** Whether others can listen at the place as well. */
  async #first(place: Place): Promise<boolean> {
    // Nobody is given a port that another one has, where any may be taken.
    if (place.port !== 0) await requireFree(place)
    try {
      return await this.#share(place)
    } catch (error) {
      if (!isUnsupported(error)) throw error
      await listenOn(this.#server, place)
      return false
    }
  }

  async #share(place: Place): Promise<true> {
    await listenOn(this.#server, { ...place, reusePort: true })
    return true
  }

  async #openOthers(place: Place): Promise<void> {
    while (this.#others.length < DOORS - 1) {
      const door = createServer({ allowHalfOpen: true, ...socketOptions }, socket =>
        this.#server.emit('connection', socket),
      )
      try {
        await listenOn(door, { ...place, reusePort: true })
        this.#others.push(door)
      } catch (error) {
        if (!isOutOfDescriptors(error)) throw error
        // Connections need descriptors, too: a few sockets that accept are better than many that cannot.
        await Promise.all(this.#others.splice(this.#others.length >> 2).map(closed))
        return
      }
    }
  }

  /** Resolves when the last connection has ended. */
  async close(): Promise<void> {
    await Promise.all([closed(this.#server), ...this.#others.map(closed)])
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/** The process has as many files and sockets open as it may, or the system has. */
function isOutOfDescriptors(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'EMFILE' || code === 'ENFILE'
}

/** Not every system lets several sockets listen on one port. */
function isUnsupported(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ENOTSUP' || code === 'EINVAL' || code === 'ENOPROTOOPT'
}
