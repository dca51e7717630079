/** Server-sent events (HTML Living Standard, 9.2), written as fast as the client reads them. */
import type { Reply, StreamedBody } from '../call.ts'

export const eventStreamHeaders = [
  'Content-Type',
  'text/event-stream; charset=utf-8',
  'Cache-Control',
  'no-store',
  'X-Accel-Buffering',
  'no',
]

/** Keeps proxies from closing an idle stream, and detects that the client has gone. */
const keepAliveIntervalMs = 12_000
/** A comment, which clients ignore. */
const comment = ':\n\n'

export class EventStream implements AsyncIterableIterator<string>, StreamedBody {
  readonly probe = comment
  readonly #maxBufferedBytes: number
  readonly #onGone: (tooSlow: boolean) => void
  readonly #keepAlive: NodeJS.Timeout
  #blocks: string[] = ['\n']
  #bufferedBytes = 0
  #reader: ((result: IteratorResult<string>) => void) | undefined
  #isEnded = false
  /** What `keptUp` waits for. */
  #taken: PromiseWithResolvers<void> | undefined

  /**
   * `onGone` is called at most once: the client has left, or was too slow. `keepAlive` returns the block that is sent at
   * intervals.
   */
  constructor(
    maxBufferedBytes: number,
    onGone: (tooSlow: boolean) => void,
    keepAlive: () => string = () => comment,
  ) {
    this.#maxBufferedBytes = maxBufferedBytes
    this.#onGone = onGone
    this.#keepAlive = setInterval(() => this.send(keepAlive()), keepAliveIntervalMs).unref()
  }

  get reply(): Reply {
    return { status: 200, headers: eventStreamHeaders, body: this }
  }

  next(): Promise<IteratorResult<string>> {
    if (this.#blocks.length > 0) {
      const value = this.#blocks.join('')
      this.#blocks = []
      this.#bufferedBytes = 0
      this.#release()
      return Promise.resolve({ value, done: false })
    }
    if (this.#isEnded) return Promise.resolve({ value: undefined, done: true })
    return new Promise(resolve => {
      this.#reader = resolve
    })
  }

  /** The client has gone. */
  return(): Promise<IteratorResult<string>> {
    if (!this.#isEnded) {
      this.#close()
      this.#onGone(false)
    }
    this.#blocks = []
    this.#reader?.({ value: undefined, done: true })
    this.#reader = undefined
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** `block`: one or more events, each with its empty line. */
  send(block: string): void {
    if (this.#isEnded) return
    if (this.#reader) {
      const resolve = this.#reader
      this.#reader = undefined
      resolve({ value: block, done: false })
      return
    }
    this.#bufferedBytes += Buffer.byteLength(block)
    if (this.#bufferedBytes > this.#maxBufferedBytes) this.#drop()
    else this.#blocks.push(block)
  }

  /** Undefined if the client has read most of what was sent; otherwise resolves when it has, or is gone. */
  keptUp(): Promise<void> | undefined {
    if (this.#isEnded || this.#bufferedBytes <= this.#maxBufferedBytes / 4) return undefined
    this.#taken ??= Promise.withResolvers()
    return this.#taken.promise
  }

  end(lastBlock: string): void {
    this.send(lastBlock)
    this.#close()
  }

  /** Discards the buffer: a client that reads on must find a broken stream, not one with a gap. */
  #drop(): void {
    this.#close()
    this.#blocks = []
    this.#onGone(true)
  }

  #close(): void {
    this.#isEnded = true
    this.#release()
    clearInterval(this.#keepAlive)
  }

  #release(): void {
    this.#taken?.resolve()
    this.#taken = undefined
  }
}
