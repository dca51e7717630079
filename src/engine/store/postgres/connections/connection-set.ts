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

  get isAnyIdle(): boolean {
    return this.#idle.some(connection => !connection.isClosed)
  }

  /** Whether an attempt to connect has just failed. */
  get isPaused(): boolean {
    return performance.now() < this.#pausedUntil
  }

  /** Whether an attempt to connect has just failed and no connection is open. */
  get isUnreachable(): boolean {
    return this.#all.size === 0 && this.isPaused
  }

  /** An idle connection. */
  take(): Connection | undefined {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (!connection.isClosed) return connection
    }
    return undefined
  }

  /** A new connection, which is idle once it is released. Rejects with `ConnectionLost`. */
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

  /** An idle connection, or a new one. Rejects with `ConnectionLost`, immediately while the database is unreachable. */
  async acquire(): Promise<Connection> {
    const connection = this.take()
    if (connection !== undefined) return connection
    if (this.isUnreachable) throw new ConnectionLost(unreachableMessage)
    return this.open()
  }

  release(connection: Connection): void {
    if (!connection.isClosed) this.#idle.push(connection)
  }

  /** Ends the idle connections: after another connection broke, they may be broken too. */
  dropIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.destroy()
  }

  /** Destroys all connections: the database is unreachable. */
  disconnect(): void {
    this.#pausedUntil = performance.now() + pauseMs
    for (const connection of [...this.#all]) connection.destroy()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map(connection => connection.close()))
  }
}
