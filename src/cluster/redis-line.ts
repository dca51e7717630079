/** One connection to Redis: whether it answers in time, and a new one where it does not answer at all. */
import { Redis, type RedisOptions } from 'ioredis'

export type Connection = Omit<RedisOptions, 'replyMapping'>

export interface LineOptions {
  /** How long an answer may take, in milliseconds. */
  readonly timeout: number
  /** Succeeds where everything works that the line is for. */
  readonly probe: (client: Redis) => Promise<unknown>
  /** It answers, or does not any more. */
  readonly onChange: (isUp: boolean) => void
}

/** How often it is asked whether it still answers, in milliseconds. */
const BEAT = 1000
/** The same while it does not. */
const BEAT_DOWN = 200
/** After so many beats without any answer the connection counts as dead. Time that this process slept is none. */
const PATIENCE = 10
/** How long a connection may take, in milliseconds. */
const CONNECTING = 2000
/** So many answers in time, one after another, end a loss: a slow server must not come and go. */
const STEADY = 3

/**
 * Where the URL leads. Nothing waits for a connection, is sent twice, or is left to the library's own
 * patience: what cannot be asked now is decided without Redis.
 */
export function redisOptions(url: string): Connection {
  const common: Connection = {
    protocol: 2,
    connectionName: 'portico',
    disableClientInfo: true,
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECTING,
    retryStrategy: times => Math.min(50 * 2 ** Math.min(times, 5), 1000) * (0.75 + Math.random() / 2),
    // A replica that was the primary: perhaps the name leads elsewhere by now.
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

/** What an error says. Of the library's errors only the message: they carry the command with its arguments. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The library's words for a connection that ends just now.
  if (error.message.includes('enableOfflineQueue')) return 'the connection has ended'
  return error.message || (error as { code?: string }).code || error.name
}

export class Line {
  readonly client: Redis
  readonly #options: LineOptions
  #isUp = false
  #hasBeenUp = false
  #isClosed = false
  /** Answers in time, one after another, since it was lost. */
  #steady = 0
  /** How many were given up. */
  #connection = 0
  /** One question at a time. */
  #isAsked = false
  /** Beats without an answer since it was lost. */
  #silent = 0
  #reason = 'no connection yet'
  #timer: NodeJS.Timeout | undefined
  #first: (() => void) | undefined

  constructor(connection: Connection, options: LineOptions) {
    this.#options = options
    this.client = new Redis(connection)
    this.client.on('error', error => {
      this.#reason = reasonOf(error)
    })
    this.client.on('connect', () => {
      this.#silent = 0
    })
    this.client.on('ready', () => this.#beat())
    this.client.on('close', () => {
      this.#connection++
      this.#fall(this.#reason)
    })
    // The reason comes by the event.
    this.client.connect().catch(() => {})
    this.#next()
  }

  get isUp(): boolean {
    return this.#isUp
  }

  /** Why it was lost, or was not there yet. */
  get reason(): string {
    return this.#reason
  }

  /** When it answers for the first time, and after `milliseconds` in any case. */
  async first(milliseconds: number): Promise<void> {
    if (this.#isUp) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#first = resolve
    const timer = setTimeout(resolve, milliseconds)
    await promise
    clearTimeout(timer)
  }

  /** Rejects in time. Who gets no answer has lost the line, for all. */
  async ask<T>(send: (client: Redis) => Promise<T>): Promise<T> {
    const { timeout } = this.#options
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
      this.#fall(reason)
      reject(new Error(reason))
    }
    // Where this process was busy for so long, the answer may be there and unread: it is read before.
    const late = () => setImmediate(() => fail(`no answer within ${timeout} ms`))
    const timer = setTimeout(late, timeout)
    send(this.client).then(
      answer => {
        this.#silent = 0
        if (isSettled) return
        settle()
        resolve(answer)
      },
      error => fail(reasonOf(error)),
    )
    return promise
  }

  close(): void {
    this.#isClosed = true
    this.#isUp = false
    clearTimeout(this.#timer)
    this.#first?.()
    this.client.disconnect()
  }

  #next(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    this.#timer = setTimeout(() => this.#beat(), this.#isUp ? BEAT : BEAT_DOWN).unref()
  }

  #beat(): void {
    this.#next()
    const { status } = this.client
    if (status !== 'ready' && status !== 'connect') return
    if (!this.#isUp) this.#silent++
    if (this.#silent > PATIENCE) {
      this.#connection++
      this.#steady = 0
      this.client.disconnect(true)
    } else if (status === 'ready' && !this.#isAsked) void this.#probe()
  }

  async #probe(): Promise<void> {
    const connection = this.#connection
    this.#isAsked = true
    try {
      await this.ask(this.#options.probe)
      // What one that is given up had still to say counts for nothing.
      if (connection === this.#connection) this.#steady++
      if (!this.#isUp && this.#steady >= (this.#hasBeenUp ? STEADY : 1)) this.#rise()
    } catch {
      // The loss was told where it happened.
    } finally {
      this.#isAsked = false
    }
  }

  #rise(): void {
    if (this.#isClosed) return
    this.#isUp = true
    this.#hasBeenUp = true
    this.#reason = 'the connection has ended'
    this.#first?.()
    this.#options.onChange(true)
  }

  #fall(reason: string): void {
    this.#steady = 0
    this.#reason = reason
    if (!this.#isUp || this.#isClosed) return
    this.#isUp = false
    this.#next()
    this.#options.onChange(false)
  }
}
