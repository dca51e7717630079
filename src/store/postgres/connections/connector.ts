/** Opens the connections of a node, with the settings and time limits of each kind. */
import { Connection } from './connection.ts'

/** How long to wait for a connection, and for the answer to a cheap statement, in milliseconds. */
const connectTimeoutMs = 2000
const watchTimeoutMs = 1500

/**
 * For Portico's own statements; without row security, for all statements, since a migration may turn row security on while
 * this node runs.
 */
const everything = `; SET portico.service = 'on'`

/**
 * How long a read may delay those that were sent with it by waiting for the lock of a table, e.g. of a migration, in
 * milliseconds: see `LockedReads`.
 */
const readLockMs = 100

interface ConnectorOptions {
  /** How long a statement may take, in milliseconds. */
  readonly timeout: number
  /** Whether row security is on. */
  readonly isLocked: boolean
  /** Called when an answer of the primary is slow, before it times out. */
  readonly onSlow: () => void
}

/** How long a write waits for a lock, given how long a statement may take. Both in milliseconds. */
export function lockWaitOf(timeoutMs: number): number {
  return Math.ceil(timeoutMs / 2)
}

export class Connector {
  readonly #options: ConnectorOptions
  readonly #common: string

  constructor(options: ConnectorOptions) {
    const { timeout } = options
    this.#options = options
    this.#common = `SET timezone = 'UTC'; SET jit = off; SET statement_timeout = ${timeout}; SET idle_in_transaction_session_timeout = ${2 * timeout}`
  }

  /** All statements of one pipeline see one snapshot. */
  reading(url: string): Promise<Connection> {
    return this.#open(url, this.#reading, this.#options.onSlow)
  }

  /** The same, to a standby. */
  replica(url: string): Promise<Connection> {
    return this.#open(url, this.#reading)
  }

  writing(url: string): Promise<Connection> {
    const lockTimeout = `SET lock_timeout = ${lockWaitOf(this.#options.timeout)}`
    return this.#open(url, `${this.#common}; ${lockTimeout}`, this.#options.onSlow)
  }

  /**
   * Each statement sees what was committed before it. The connection is closed soon if the server is silent. It acts for
   * Portico itself, since policies hide the event log from everyone else.
   */
  watching(url: string): Promise<Connection> {
    const settings = `${this.#common}; SET default_transaction_read_only = on${everything}`
    return Connection.open({ url, connectTimeout: connectTimeoutMs, answerTimeout: watchTimeoutMs, settings })
  }

  get #reading(): string {
    return `${this.#common}; SET lock_timeout = ${readLockMs}; SET default_transaction_isolation = 'repeatable read'; SET default_transaction_read_only = on`
  }

  #open(url: string, settings: string, onSlow?: () => void): Promise<Connection> {
    const { timeout, isLocked } = this.#options
    return Connection.open({
      url,
      connectTimeout: connectTimeoutMs,
      // Several statements may be sent together, each with its own time limit.
      answerTimeout: 1.5 * timeout,
      settings: isLocked ? settings : `${settings}${everything}`,
      isLocked,
      ...(onSlow && { onSlow }),
    })
  }
}
