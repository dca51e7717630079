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

/** Keeps proxies from closing an idle stream, and detects that the client has disconnected. */
const keepAliveIntervalMs = 12_000
/** A comment, which clients ignore. */
export const commentBlock = ':\n\n'

export class EventStream implements AsyncIterableIterator<string>, StreamedBody {
  readonly probe = commentBlock
  readonly #maxBufferedBytes: number
  readonly #onDisconnect: (tooSlow: boolean) => void
  readonly #keepAlive: NodeJS.Timeout
  #blocks: string[] = ['\n']
  #bufferedBytes = 0
  #resolveRead: ((result: IteratorResult<string>) => void) | undefined
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
      this.#resolveRead = resolve
    })
  }

  /** The client has disconnected. */
  return(): Promise<IteratorResult<string>> {
    if (!this.#isEnded) {
      this.#close()
      this.#onDisconnect(false)
    }
    this.#blocks = []
    this.#resolveRead?.({ value: undefined, done: true })
    this.#resolveRead = undefined
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** `block`: one or more events, each with its empty line. */
  send(block: string): void {
    if (this.#isEnded) return
    if (this.#resolveRead) {
      const resolve = this.#resolveRead
      this.#resolveRead = undefined
      resolve({ value: block, done: false })
      return
    }
    this.#bufferedBytes += Buffer.byteLength(block)
    if (this.#bufferedBytes > this.#maxBufferedBytes) this.#disconnect()
    else this.#blocks.push(block)
  }

  /** Undefined if the client has read most of what was sent. Otherwise resolves when it has, or has disconnected. */
  keptUp(): Promise<void> | undefined {
    if (this.#isEnded || this.#bufferedBytes <= this.#maxBufferedBytes / 4) return undefined
    this.#caughtUp ??= Promise.withResolvers()
    return this.#caughtUp.promise
  }

  end(lastBlock: string): void {
    this.send(lastBlock)
    this.#close()
  }

  /** Discards the buffer: a client that reads on must find a broken stream, not one with a gap. */
  #disconnect(): void {
    this.#close()
    this.#blocks = []
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
