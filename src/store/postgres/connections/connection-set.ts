/** The connections of one purpose, and which of them are free. */

import type { Connection } from './connection.ts'
import { ConnectionLost } from './failure.ts'

export const unreachableMessage = 'The database cannot be reached.'

/** How long requests are refused immediately after a failed attempt to connect, in milliseconds. */
const pauseMs = 200

export class ConnectionSet {
  readonly #open: () => Promise<Connection>
  readonly #all = new Set<Connection>()
  readonly #idle: Connection[] = []
  #pausedUntil = 0

  constructor(open: () => Promise<Connection>) {
    this.#open = open
  }

  /** The number of open connections. */
  get size(): number {
    return this.#all.size
  }

  /** Whether an attempt to connect has just failed. */
  get isPaused(): boolean {
    return performance.now() < this.#pausedUntil
  }

  /** Whether it has, and no connection is open. */
  get isAway(): boolean {
    return this.#all.size === 0 && this.isPaused
  }

  /** An idle connection. */
  take(): Connection | undefined {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (!connection.isClosed) return connection
    }
    return undefined
  }

  /** A new connection, which is idle once it is given back. Rejects with `ConnectionLost`. */
  async open(): Promise<Connection> {
    try {
      const connection = await this.#open()
      this.#all.add(connection)
      connection.onClose(() => this.#all.delete(connection))
      return connection
    } catch (cause) {
      this.#pausedUntil = performance.now() + pauseMs
      throw cause
    }
  }

  /** An idle connection, or a new one. Rejects with `ConnectionLost`, immediately while the database is away. */
  async acquire(): Promise<Connection> {
    const connection = this.take()
    if (connection !== undefined) return connection
    if (this.isAway) throw new ConnectionLost(unreachableMessage)
    return this.open()
  }

  giveBack(connection: Connection): void {
    if (!connection.isClosed) this.#idle.push(connection)
  }

  /** Ends the idle connections: they may be broken like another one that was found so. */
  dropIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.destroy()
  }

  /** The database is known to be unreachable: no connection works any more. */
  lose(): void {
    this.#pausedUntil = performance.now() + pauseMs
    for (const connection of [...this.#all]) connection.destroy()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map(connection => connection.close()))
  }
}
