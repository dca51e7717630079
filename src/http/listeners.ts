/**
 * The listening sockets. Node accepts one connection of a listening socket in each turn of the event loop: with a single
 * socket, a hundred clients that connect together wait for a hundred turns, which are long under load. So several
 * sockets listen on one port (decisions/listening-sockets.md).
 */
import type { Server } from 'node:http'
import { createServer, type ListenOptions, type Server as NetServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

const listeningSockets = 64
/** How many connections may wait to be accepted at each. */
const backlog = 1024

/** The options that `node:http` sets on its own connections. */
export const socketOptions = {
  noDelay: true,
  // The system notices after some minutes that a client has gone silently.
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
    server.listen({ backlog, ...at }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function closed(server: NetServer): Promise<unknown> {
  return new Promise(resolve => server.close(resolve))
}

/** Rejects if another program listens there: with `reusePort` the system would not report it. */
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
 * Runs `use` while no other process on this machine checks whether the port is free, or begins to listen on it: between
 * the check and the first shared socket, another start would succeed as well. The lock is a socket with a name in Linux's
 * abstract namespace, which belongs to the network namespace as ports do and ends with its process (unix(7)). Other
 * systems have no lock.
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

export class Listeners {
  readonly #server: Server
  #others: NetServer[] = []

  constructor(server: Server) {
    this.#server = server
  }

  /** `shared`: other threads of this process listen on the same port. */
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

  /** Returns whether more sockets can listen on the port. */
  async #first(place: Place): Promise<boolean> {
    // Port 0: the system chooses a free port.
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
    while (this.#others.length < listeningSockets - 1) {
      const listener = createServer({ allowHalfOpen: true, ...socketOptions }, socket =>
        this.#server.emit('connection', socket),
      )
      try {
        await listenOn(listener, { ...place, reusePort: true })
        this.#others.push(listener)
      } catch (error) {
        if (!isOutOfDescriptors(error)) throw error
        // Connections need descriptors too: a few sockets that accept are better than many that cannot.
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
