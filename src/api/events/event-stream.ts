/** Server-sent events (HTML Living Standard, 9.2), written as fast as the client reads them. */
import type { Reply, StreamedBody } from '../../base/call.ts'

export const eventStreamHeaders = [
  'Content-Type',
  'text/event-stream; charset=utf-8',
  'Cache-Control',
  'no-store',
  'X-Accel-Buffering',
  'no',
]

/** Keeps proxies from closing an idle stream, and detects that the client has disconnected. */
const keepAliveIntervalMs = 12_000
/** A comment, which clients ignore. */
export const commentBlock = ':\n\n'

type Chunk = string | Buffer

export class EventStream implements AsyncIterableIterator<Chunk>, StreamedBody {
  readonly probe = commentBlock
  readonly #maxBufferedBytes: number
  readonly #onDisconnect: (tooSlow: boolean) => void
  readonly #keepAlive: NodeJS.Timeout
  #chunks: Chunk[] = ['\n']
  #bufferedBytes = 1
  #resolveRead: ((result: IteratorResult<Chunk>) => void) | undefined
  #isEnded = false
  /** The promise that `keptUp` returns. */
  #caughtUp: PromiseWithResolvers<void> | undefined

  /**
   * `onDisconnect` is called at most once: the client has disconnected, or was too slow. `keepAlive` returns the block that
   * is sent at intervals.
   */
  constructor(
    maxBufferedBytes: number,
    onDisconnect: (tooSlow: boolean) => void,
    keepAlive: () => string = () => commentBlock,
  ) {
    this.#maxBufferedBytes = maxBufferedBytes
    this.#onDisconnect = onDisconnect
    this.#keepAlive = setInterval(() => this.send(keepAlive()), keepAliveIntervalMs).unref()
  }

  get reply(): Reply {
    return { status: 200, headers: eventStreamHeaders, body: this }
  }

  next(): Promise<IteratorResult<Chunk>> {
    if (this.#chunks.length > 0) return Promise.resolve({ value: this.#take(), done: false })
    if (this.#isEnded) return Promise.resolve({ value: undefined, done: true })
    return new Promise(resolve => {
      this.#resolveRead = resolve
    })
  }

  /** The client has disconnected. */
  return(): Promise<IteratorResult<Chunk>> {
    if (!this.#isEnded) {
      this.#close()
      this.#onDisconnect(false)
    }
    this.#chunks = []
    this.#resolveRead?.({ value: undefined, done: true })
    this.#resolveRead = undefined
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** `parts`: of one or more events, each with its empty line. */
  send(...parts: readonly Chunk[]): void {
    if (this.#isEnded) return
    // Checked before the event: a client that has read everything is sent any event.
    if (this.#bufferedBytes > this.#maxBufferedBytes) return void this.#disconnect()
    this.#chunks.push(...parts)
    for (const part of parts) this.#bufferedBytes += Buffer.byteLength(part)
    const resolve = this.#resolveRead
    this.#resolveRead = undefined
    resolve?.({ value: this.#take(), done: false })
  }

  /** All texts up to the next bytes, or bytes, which are not copied. */
  #take(): Chunk {
    const texts = this.#chunks.findIndex(chunk => typeof chunk !== 'string')
    if (texts === 0) return this.#taken(this.#chunks.shift() ?? '')
    return this.#taken(this.#chunks.splice(0, texts === -1 ? this.#chunks.length : texts).join(''))
  }

  #taken(chunk: Chunk): Chunk {
    this.#bufferedBytes = this.#chunks.length === 0 ? 0 : this.#bufferedBytes - Buffer.byteLength(chunk)
    if (this.#hasKeptUp) this.#release()
    return chunk
  }

  /** Undefined if the client has read most of what was sent. Otherwise resolves when it has, or has disconnected. */
  keptUp(): Promise<void> | undefined {
    if (this.#hasKeptUp) return undefined
    this.#caughtUp ??= Promise.withResolvers()
    return this.#caughtUp.promise
  }

  get #hasKeptUp(): boolean {
    return this.#isEnded || this.#bufferedBytes <= this.#maxBufferedBytes / 4
  }

  end(lastBlock: string): void {
    this.send(lastBlock)
    this.#close()
  }

  /** Discards the buffer: a client that reads on must find a broken stream, not one with a gap. */
  #disconnect(): void {
    this.#close()
    this.#chunks = []
    this.#onDisconnect(true)
  }

  #close(): void {
    this.#isEnded = true
    this.#release()
    clearInterval(this.#keepAlive)
  }

  #release(): void {
    this.#caughtUp?.resolve()
    this.#caughtUp = undefined
  }
}
