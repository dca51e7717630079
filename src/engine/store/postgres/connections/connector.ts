/** Opens the connections of a node, with the settings and time limits of each kind. */
import { Connection } from './connection.ts'
import { sessionSettings } from './session-settings.ts'

/** How long to wait for a connection, and for the answer to a cheap statement, in milliseconds. */
const connectTimeoutMs = 2000
const watchTimeoutMs = 1500

/**
 * Sets the service actor: for Portico's own statements, and without row security for all statements, since a migration may
 * turn row security on while this node runs.
 */
const serviceSetting = `; SET portico.service = 'on'`

/**
 * How long a read may delay the reads that were sent with it by waiting for the lock of a table, e.g. of a migration, in
 * milliseconds: see `LockedReads`.
 */
const readLockMs = 100

interface ConnectorOptions {
  /** How long a statement may take, in milliseconds. */
  readonly timeoutMs: number
  /** The schema of all tables, as it was when the service started. */
  readonly schema: string | undefined
  /** Whether row security is on. */
  readonly rowSecurity: boolean
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
    const { timeoutMs, schema } = options
    this.#options = options
    this.#common = `${sessionSettings(schema)}; SET jit = off; SET statement_timeout = ${timeoutMs}; SET idle_in_transaction_session_timeout = ${2 * timeoutMs}`
  }

  /** The schema of all tables. */
  get schema(): string | undefined {
    return this.#options.schema
  }

  /** All statements of one pipeline see one snapshot. */
  openReader(url: string): Promise<Connection> {
    return this.#open(url, this.#readerSettings, this.#options.onSlow)
  }

  /** The same, to a standby. */
  openReplica(url: string): Promise<Connection> {
    return this.#open(url, this.#readerSettings)
  }

  openWriter(url: string): Promise<Connection> {
    const lockTimeout = `SET lock_timeout = ${lockWaitOf(this.#options.timeoutMs)}`
    return this.#open(url, `${this.#common}; ${lockTimeout}`, this.#options.onSlow)
  }

  /**
   * Each statement sees all earlier commits. The connection is closed soon if the server is silent. It acts for Portico
   * itself, since policies hide the event log from everyone else.
   */
  openWatcher(url: string): Promise<Connection> {
    const settings = `${this.#common}; SET default_transaction_read_only = on${serviceSetting}`
    return Connection.open({ url, connectTimeoutMs, answerTimeoutMs: watchTimeoutMs, settings })
  }

  get #readerSettings(): string {
    return `${this.#common}; SET lock_timeout = ${readLockMs}; SET default_transaction_isolation = 'repeatable read'; SET default_transaction_read_only = on`
  }

  #open(url: string, settings: string, onSlow?: () => void): Promise<Connection> {
    const { timeoutMs, rowSecurity } = this.#options
    return Connection.open({
      url,
      connectTimeoutMs,
      // Several statements may be sent together, each with its own time limit.
      answerTimeoutMs: 1.5 * timeoutMs,
      settings: rowSecurity ? settings : `${settings}${serviceSetting}`,
      rowSecurity,
      ...(onSlow && { onSlow }),
    })
  }
}
