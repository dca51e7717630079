/**
 * The listening sockets. Node accepts one connection of a listening socket in each turn of the event loop: with a single
 * socket, a hundred clients that connect together wait for a hundred turns, which are long under load. So several
 * sockets listen on one port (decisions/threads.md).
 */
import type { Server } from 'node:http'
import { createServer, type ListenOptions, type Server as NetServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { isOutOfDescriptors } from '../../base/errors.ts'

const listeningSockets = 64
/** How many connections may wait at each socket to be accepted. */
const backlog = 1024

/** The options that `node:http` sets on its own connections. */
export const socketOptions = {
  noDelay: true,
  // The system notices after some minutes that a client has gone silently.
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
} as const

export interface ListenAddress {
  readonly port: number
  readonly host: string
}

function listenOn(server: NetServer, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ backlog, ...options }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function close(server: NetServer): Promise<unknown> {
  return new Promise(resolve => server.close(resolve))
}

/** Rejects if another program listens on the address: with `reusePort` the system would not report it. */
export async function requireFree(address: ListenAddress): Promise<void> {
  const probe = createServer()
  await listenOn(probe, address)
  await close(probe)
}

/** Rejects if several sockets cannot listen on one port. */
export async function requireSharing(host: string): Promise<void> {
  const probe = createServer()
  await listenOn(probe, { host, port: 0, reusePort: true })
  await close(probe)
}

/** How long a start waits for other starts on the same port. */
const portLockWaitMs = 10_000

/**
 * Runs `work` while no other process on this machine checks whether the port is free, or begins to listen on it: between
 * the check and the first shared socket, another start would succeed as well. The lock is a socket with a name in Linux's
 * abstract namespace, which belongs to the network namespace, as ports do, and ends with its process (unix(7)). Other
 * systems have no such lock.
 */
export async function withPortLock<T>(port: number, work: () => Promise<T>): Promise<T> {
  if (process.platform !== 'linux' || port === 0) return work()
  const lock = await acquirePortLock(port)
  try {
    return await work()
  } finally {
    await close(lock)
  }
}

async function acquirePortLock(port: number): Promise<NetServer> {
  const deadline = performance.now() + portLockWaitMs
  for (;;) {
    const lock = createServer()
    try {
      await listenOn(lock, { path: `\0portico-port-${port}` })
      return lock
    } catch (error) {
      if (codeOf(error) !== 'EADDRINUSE' || performance.now() > deadline) throw error
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
  async open(address: ListenAddress, shared: boolean): Promise<void> {
    const isSharing = shared
      ? await this.#openShared(address)
      : await withPortLock(address.port, () => this.#openFirst(address))
    if (!isSharing) return
    const bound = this.#server.address()
    const port = typeof bound === 'object' && bound !== null ? bound.port : address.port
    try {
      await this.#openOthers({ ...address, port })
    } catch (error) {
      // An open listener or connection would keep the process from ending.
      const closed = this.close()
      this.#server.closeAllConnections()
      await closed
      throw error
    }
  }

  /** Returns whether more sockets can listen on the port. */
  async #openFirst(address: ListenAddress): Promise<boolean> {
    // Port 0: the system chooses a free port.
    if (address.port !== 0) await requireFree(address)
    try {
      return await this.#openShared(address)
    } catch (error) {
      if (!isUnsupported(error)) throw error
      await listenOn(this.#server, address)
      return false
    }
  }

  async #openShared(address: ListenAddress): Promise<true> {
    await listenOn(this.#server, { ...address, reusePort: true })
    return true
  }

  async #openOthers(address: ListenAddress): Promise<void> {
    while (this.#others.length < listeningSockets - 1) {
      const listener = createServer({ allowHalfOpen: true, ...socketOptions }, socket =>
        this.#server.emit('connection', socket),
      )
      try {
        await listenOn(listener, { ...address, reusePort: true })
        this.#others.push(listener)
      } catch (error) {
        if (!isOutOfDescriptors(error)) throw error
        // Connections need descriptors too: a few sockets that accept are better than many that cannot.
        await Promise.all(this.#others.splice(this.#others.length >> 2).map(close))
        return
      }
    }
  }

  /** Resolves when the last connection has ended. */
  async close(): Promise<void> {
    await Promise.all([close(this.#server), ...this.#others.map(close)])
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/** Whether the system does not let several sockets listen on one port. */
function isUnsupported(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ENOTSUP' || code === 'EINVAL' || code === 'ENOPROTOOPT'
}
