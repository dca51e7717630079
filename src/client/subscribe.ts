/** Follows the event log. After a disconnect, the next connection resumes where the last one ended. */
import { unreachable } from './answer.ts'
import { ApiError } from './api-error.ts'
import type { Connection } from './connection.ts'
import { type StreamBlock, StreamParser } from './event-stream.ts'
import { type Parameters, queryString } from './query.ts'
import { backOff, pause } from './retry.ts'
import type { SubscribeOptions } from './types/events.ts'

/** The service sends something at least every 15 s: a connection without data for this time is dead. */
const maxSilenceMs = 40_000
const firstPauseMs = 500
const maxPauseMs = 30_000
/** The number of ids that are kept to recognise events that the service repeats after a reconnect. */
const maxSeenIds = 1_000

interface LogEvent {
  readonly id: string
}

/**
 * Yields each event once. Ends when the signal is aborted. Throws an `ApiError` if reconnecting would not help.
 */
export async function* subscribe(
  connection: Connection,
  parameters: Parameters,
  options: SubscribeOptions,
): AsyncGenerator<unknown, undefined, undefined> {
  const log = new LogFollower(connection, parameters, options)
  try {
    while (!options.signal?.aborted) yield* log.follow()
  } finally {
    log.end()
  }
}

class LogFollower {
  readonly #connection: Connection
  readonly #parameters: Parameters
  readonly #options: SubscribeOptions
  readonly #seenIds = new Set<string>()
  #after: string | undefined
  #failures = 0
  #isConnected = false
  /** Aborts the current connection. */
  #controller = new AbortController()
  #silence: ReturnType<typeof setTimeout> | undefined
  readonly #stop = () => this.#controller.abort()

  constructor(connection: Connection, parameters: Parameters, options: SubscribeOptions) {
    this.#connection = connection
    this.#parameters = parameters
    this.#options = options
    this.#after = options.after
    options.signal?.addEventListener('abort', this.#stop)
  }

  /** Yields the events of one connection until it breaks, and then pauses. Throws an error if reconnecting would not help. */
  async *follow(): AsyncGenerator<unknown, undefined, undefined> {
    let failure: ApiError | undefined
    this.#controller = new AbortController()
    try {
      yield* this.#events(await this.#open())
    } catch (error) {
      if (this.#options.signal?.aborted) return
      if (!(this.#controller.signal.aborted || isTemporary(error))) throw error
      failure = error instanceof ApiError ? error : undefined
    } finally {
      this.#disconnect()
    }
    await this.#wait(failure)
  }

  end(): void {
    this.#disconnect()
    this.#options.signal?.removeEventListener('abort', this.#stop)
  }

  async #open(): Promise<ReadableStreamDefaultReader<Uint8Array>> {
    this.#watch()
    const after: Parameters = this.#after === undefined ? [] : [['after', this.#after]]
    const path = `/events${queryString([...this.#parameters, ...after])}`
    const { signal } = this.#controller
    const response = await this.#connection.open(path, 'text/event-stream', signal)
    this.#report(true)
    return (response.body as ReadableStream<Uint8Array>).getReader()
  }

  async *#events(
    reader: ReadableStreamDefaultReader<Uint8Array>,
  ): AsyncGenerator<unknown, undefined, undefined> {
    const parser = new StreamParser()
    const decoder = new TextDecoder()
    for (;;) {
      const { value, done } = await reader.read().catch(error => {
        throw unreachable('The event stream', error)
      })
      if (done) return
      this.#watch()
      for (const block of parser.push(decoder.decode(value, { stream: true }))) yield* this.#block(block)
    }
  }

  *#block({ id, type, data }: StreamBlock): Generator<unknown, undefined, undefined> {
    this.#failures = 0
    if (type === 'resync_required') throw resyncRequired(data)
    if (data !== '') {
      const event: LogEvent = JSON.parse(data)
      if (this.#isNew(event.id)) yield event
    }
    // The first block contains the position at which the stream begins; without an id, the log is empty.
    this.#after = id ?? this.#after ?? '0'
  }

  #isNew(id: string): boolean {
    if (this.#seenIds.has(id)) return false
    this.#seenIds.add(id)
    const [oldest] = this.#seenIds
    if (this.#seenIds.size > maxSeenIds && oldest !== undefined) this.#seenIds.delete(oldest)
    return true
  }

  /** Aborts the connection if nothing arrives for a while, not even a heartbeat. */
  #watch(): void {
    clearTimeout(this.#silence)
    this.#silence = setTimeout(this.#stop, maxSilenceMs)
  }

  #disconnect(): void {
    clearTimeout(this.#silence)
    this.#controller.abort()
    this.#report(false)
  }

  #report(isConnected: boolean): void {
    if (this.#isConnected === isConnected) return
    this.#isConnected = isConnected
    this.#options.onConnection?.(isConnected)
  }

  /** Waits before the next connection. */
  async #wait(failure: ApiError | undefined): Promise<void> {
    const minimumMs = Math.min((failure?.retryAfter ?? 0) * 1_000, maxPauseMs)
    const pauseMs = minimumMs + backOff(this.#failures++, firstPauseMs, maxPauseMs)
    await pause(pauseMs, this.#options.signal).catch(() => undefined)
  }
}

/** Whether reconnecting may help. */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  const { status } = error
  return status === 0 || status === 408 || status === 429 || status >= 500
}

function resyncRequired(data: string): ApiError {
  const { error } = JSON.parse(data)
  return new ApiError({ status: 410, code: error.code, message: error.message })
}
