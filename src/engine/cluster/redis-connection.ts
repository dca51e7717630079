/** A supervised connection to Redis: it checks that Redis answers in time, and reconnects if Redis does not answer at all. */
import { Redis, type RedisOptions } from 'ioredis'

export type ConnectionSettings = Omit<RedisOptions, 'replyMapping'>

export interface RedisConnectionOptions {
  /** How long an answer may take. */
  readonly timeoutMs: number
  /** Succeeds if everything that the connection is used for works. */
  readonly probe: (client: Redis) => Promise<unknown>
  /** Called when Redis answers in time again, and when it no longer does. */
  readonly onChange: (isUp: boolean) => void
  /** Called when Redis, once it was lost, refuses this node, e.g. because it now demands a password: once for each reason. */
  readonly onRefused?: (reason: string) => void
}

/** How often a probe checks that Redis answers, while it does and while it does not. */
const probeIntervalMs = 1000
const probeIntervalDownMs = 200
/** After this many intervals without an answer, the connection is replaced. Intervals, not time: the process may sleep. */
const maxSilentIntervals = 10
const connectTimeoutMs = 2000
/** Redis counts as back after this many consecutive answers in time: a slow server must not alternate between up and down. */
const answersUntilUp = 3

/**
 * ioredis's options for a URL. The library neither queues, nor resends, nor retries commands: a request whose command cannot
 * be sent now is decided without Redis.
 */
export function redisOptions(url: string): ConnectionSettings {
  const common: ConnectionSettings = {
    protocol: 2,
    connectionName: 'portico',
    disableClientInfo: true,
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: connectTimeoutMs,
    retryStrategy: times => Math.min(50 * 2 ** Math.min(times, 5), 1000) * (0.75 + Math.random() / 2),
    // The primary has become a replica: the name may now resolve to another server.
    reconnectOnError: error => error.message.startsWith('READONLY'),
    lazyConnect: true,
  }
  const { protocol, hostname, port, pathname, searchParams, username, password } = new URL(url)
  const isSocket = protocol === 'unix:'
  const database = isSocket ? searchParams.get('db') : pathname.slice(1)
  return {
    ...common,
    ...(isSocket
      ? { path: decodeURIComponent(pathname) }
      : { host: hostname.replace(/^\[|\]$/g, '') || 'localhost', port: Number(port || 6379) }),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(database && { db: Number(database) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  }
}

/** The text of an error. Only the message: errors of the library contain the command with its arguments. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The library's message for a connection that has just ended.
  if (error.message.includes('enableOfflineQueue')) return 'the connection has ended'
  return error.message || (error as { code?: string }).code || error.name
}

export class RedisConnection {
  readonly client: Redis
  readonly #options: RedisConnectionOptions
  #isUp = false
  #hasBeenUp = false
  #isClosed = false
  /** Consecutive answers in time since the connection was lost. */
  #answersInTime = 0
  /** Grows with every new connection. */
  #connectionNumber = 0
  /** Whether a probe waits for its answer. */
  #isProbing = false
  /** Probe intervals without an answer since the connection was lost. */
  #silentIntervals = 0
  #reason = 'no connection yet'
  /** The kind of error that Redis last answered with, since it was last used. */
  #refusal: string | undefined
  #timer: NodeJS.Timeout | undefined
  #resolveFirst: (() => void) | undefined

  constructor(connection: ConnectionSettings, options: RedisConnectionOptions) {
    this.#options = options
    this.client = new Redis(connection)
    this.client.on('error', error => {
      this.#reason = describeError(error)
      this.#noteRefusal(error)
    })
    this.client.on('connect', () => {
      this.#silentIntervals = 0
    })
    this.client.on('ready', () => this.#tick())
    this.client.on('close', () => {
      this.#connectionNumber++
      this.#markDown(this.#reason)
    })
    // The `error` event has the reason.
    this.client.connect().catch(() => {})
    this.#scheduleTick()
  }

  get isUp(): boolean {
    return this.#isUp
  }

  /** Why the connection is lost, or not yet made. */
  get reason(): string {
    return this.#reason
  }

  /** Resolves at the first answer, or after `timeoutMs`. */
  async waitUntilUp(timeoutMs: number): Promise<void> {
    if (this.#isUp) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#resolveFirst = resolve
    const timer = setTimeout(resolve, timeoutMs)
    await promise
    clearTimeout(timer)
  }

  /** Sends a command. Rejects if Redis does not answer in time: then the connection counts as lost. */
  async send<T>(command: (client: Redis) => Promise<T>): Promise<T> {
    const { timeoutMs } = this.#options
    if (this.client.status !== 'ready') throw new Error('there is no connection')
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    let isSettled = false
    const settle = () => {
      isSettled = true
      clearTimeout(timer)
    }
    const fail = (reason: string) => {
      if (isSettled) return
      settle()
      this.#markDown(reason)
      reject(new Error(reason))
    }
    // If this process was busy for that long, the answer may have arrived already: it is read first.
    const onTimeout = () => setImmediate(() => fail(`no answer within ${timeoutMs} ms`))
    const timer = setTimeout(onTimeout, timeoutMs)
    command(this.client).then(
      answer => {
        this.#silentIntervals = 0
        if (isSettled) return
        settle()
        resolve(answer)
      },
      error => {
        this.#noteRefusal(error)
        fail(describeError(error))
      },
    )
    return promise
  }

  close(): void {
    this.#isClosed = true
    this.#isUp = false
    clearTimeout(this.#timer)
    this.#resolveFirst?.()
    this.client.disconnect()
  }

  #scheduleTick(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    this.#timer = setTimeout(() => this.#tick(), this.#isUp ? probeIntervalMs : probeIntervalDownMs).unref()
  }

  #tick(): void {
    this.#scheduleTick()
    const { status } = this.client
    if (status !== 'ready' && status !== 'connect') return
    if (!this.#isUp) this.#silentIntervals++
    if (this.#silentIntervals > maxSilentIntervals) {
      this.#connectionNumber++
      this.#answersInTime = 0
      // The library closes it within two seconds; asking again meanwhile would add a listener each time.
      this.#silentIntervals = 0
      this.client.disconnect(true)
    } else if (status === 'ready' && !this.#isProbing) void this.#probe()
  }

  async #probe(): Promise<void> {
    const connectionNumber = this.#connectionNumber
    this.#isProbing = true
    try {
      await this.send(this.#options.probe)
      // A late answer from a replaced connection does not count.
      if (connectionNumber === this.#connectionNumber) this.#answersInTime++
      if (!this.#isUp && this.#answersInTime >= (this.#hasBeenUp ? answersUntilUp : 1)) this.#markUp()
    } catch {
      // `#markDown` has reported it.
    } finally {
      this.#isProbing = false
    }
  }

  #markUp(): void {
    if (this.#isClosed) return
    this.#isUp = true
    this.#hasBeenUp = true
    this.#refusal = undefined
    this.#reason = 'the connection has ended'
    this.#resolveFirst?.()
    this.#options.onChange(true)
  }

  #markDown(reason: string): void {
    this.#answersInTime = 0
    this.#reason = reason
    if (!this.#isUp || this.#isClosed) return
    this.#isUp = false
    this.#scheduleTick()
    this.#options.onChange(false)
  }

  /** Reports an error that Redis answers with, unless the loss of the connection will be reported with it. */
  #noteRefusal(error: unknown): void {
    if (!(error instanceof Error) || error.name !== 'ReplyError') return
    // Errors begin with their kind, e.g. `NOAUTH`; what follows may differ between commands.
    const [kind] = error.message.split(' ')
    const isNew = kind !== this.#refusal
    this.#refusal = kind
    if (isNew && !this.#isUp) this.#options.onRefused?.(describeError(error))
  }
}
