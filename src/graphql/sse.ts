/** Replies as server-sent events: graphql-sse's distinct connections mode. */
import type { Reply } from '../call.ts'

const headers = [
  'Content-Type',
  'text/event-stream; charset=utf-8',
  'Cache-Control',
  'no-store',
  'X-Accel-Buffering',
  'no',
]

/** Keeps proxies from closing a silent stream, and finds out who has gone. In milliseconds. */
const KEEP_ALIVE = 12_000

export function nextEvent(text: string): string {
  return `event: next\ndata: ${text}\n\n`
}

export const completeEvent = 'event: complete\ndata:\n\n'

/** One reply, and the end. */
export function singleEvent(text: string): Reply {
  return { status: 200, headers, body: nextEvent(text) + completeEvent }
}

/** A stream that its reader takes at its own pace, within a bound. */
export class EventStream implements AsyncIterableIterator<string> {
  readonly #most: number
  readonly #onGone: (slow: boolean) => void
  readonly #keepAlive: NodeJS.Timeout
  #parts: string[] = ['\n']
  #size = 0
  #waiting: ((result: IteratorResult<string>) => void) | undefined
  #ended = false

  /** `most`: bytes that may wait. `onGone` is called once: the reader left, or was too slow. */
  constructor(most: number, onGone: (slow: boolean) => void) {
    this.#most = most
    this.#onGone = onGone
    this.#keepAlive = setInterval(() => this.#push(':\n\n'), KEEP_ALIVE).unref()
  }

  get reply(): Reply {
    return { status: 200, headers, body: this }
  }

  next(): Promise<IteratorResult<string>> {
    if (this.#parts.length > 0) {
      const value = this.#parts.join('')
      this.#parts = []
      this.#size = 0
      return Promise.resolve({ value, done: false })
    }
    if (this.#ended) return Promise.resolve({ value: undefined, done: true })
    return new Promise(resolve => {
      this.#waiting = resolve
    })
  }

  /** The reader has gone. */
  return(): Promise<IteratorResult<string>> {
    if (!this.#ended) {
      this.#close()
      this.#onGone(false)
    }
    this.#parts = []
    this.#waiting?.({ value: undefined, done: true })
    this.#waiting = undefined
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  send(text: string): void {
    this.#push(nextEvent(text))
  }

  /** The last words: `text` where there is one, then the end. */
  end(text: string | undefined): void {
    if (this.#ended) return
    this.#push(text === undefined ? completeEvent : nextEvent(text) + completeEvent)
    this.#close()
  }

  #push(part: string): void {
    if (this.#ended) return
    if (this.#waiting) {
      const resolve = this.#waiting
      this.#waiting = undefined
      resolve({ value: part, done: false })
      return
    }
    this.#size += Buffer.byteLength(part)
    if (this.#size > this.#most) this.#drop()
    else this.#parts.push(part)
  }

  /** What waits is thrown away: a reader who catches up learns that the stream is broken. */
  #drop(): void {
    this.#close()
    this.#parts = []
    this.#onGone(true)
  }

  #close(): void {
    this.#ended = true
    clearInterval(this.#keepAlive)
  }
}
