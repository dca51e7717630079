/** How a node connects to a server: what each kind of connection begins with, and how long it is waited for. */
import { Connection } from './connection.ts'

/** How long to wait for a connection, and for the answer to a statement that does nearly nothing. */
const connectTimeoutMs = 2000
const watchTimeoutMs = 1500

/**
 * For Portico's own statements, and for all statements where no policies lock the rows: a migration beside this node may
 * make some.
 */
const everything = `; SET portico.service = 'on'`

/**
 * How long a read may hold up those that were sent with it by waiting for a table that somebody has locked, e.g. a
 * migration: see `LockedReads`. In milliseconds.
 */
const readLockMs = 100

interface ConnectorOptions {
  /** How long a statement may take, in milliseconds. */
  readonly timeout: number
  /** Whether policies lock the rows. */
  readonly isLocked: boolean
  /** Called when the primary's answer takes long, but not too long yet. */
  readonly onSlow: () => void
}

/** How long a write waits for a lock, in milliseconds, of what a statement may take. */
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
   * Each statement sees what was committed before it. It is given up soon where the server is silent. Portico reads the log
   * for itself, which policies lock for others.
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
      // Several statements may be sent together, each of which may take its time.
      answerTimeout: 1.5 * timeout,
      settings: isLocked ? settings : `${settings}${everything}`,
      isLocked,
      ...(onSlow && { onSlow }),
    })
  }
}
