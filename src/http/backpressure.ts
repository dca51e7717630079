/**
 * Refusals take no more than their share of the time. Where they would, a connection that was refused is not read until
 * there is time for it: whoever asks again at once waits, in the order of refusals, and whoever comes back after
 * `Retry-After` notices nothing.
 */
import { Queue } from './queue.ts'

/** Of the time that is worked. */
const SHARE = 0.15
/** What a refusal costs, reading and parsing included, in times of what it takes to send it. */
const WHOLE = 3
/** Time for refusals that may be saved, and owed, in milliseconds. */
const MOST_SAVED = 50
const MOST_OWED = 100
/** Nobody is left unread for longer, in milliseconds. */
const LONGEST = 1000
/** How often to look for those, in milliseconds. */
const PAUSE = 5
/** So many are read again at a time. */
const STEP = 32

/** What Node's own HTTP server stops reading by when a body comes too fast. */
interface Readable {
  readonly _handle?: { readStop(): void; readStart(): void } | null
}

interface Unread {
  readonly socket: Readable
  /** In milliseconds. */
  readonly since: number
}

/** What was done in one turn of the event loop. */
export interface Worked {
  /** How long it was worked on requests, in milliseconds. */
  readonly time: number
  readonly requests: number
  /** Whether more requests are wanted than were worked on. */
  readonly isShort: boolean
}

export class Backpressure {
  /** The time that refusals have left, in milliseconds. */
  #saved = 0
  readonly #unread = new Queue<Unread>()
  #isWorking = false
  readonly #look = (): void => {
    if (!this.#isWorking) this.#readAgain(STEP)
    this.#isWorking = false
    if (this.length > 0) setTimeout(this.#look, PAUSE).unref()
  }

  /** How many are not read. */
  get length(): number {
    return this.#unread.length
  }

  /** A refusal was sent, which took so long, in milliseconds; the connection stays open. */
  refused(socket: object, sending: number): void {
    const { _handle: handle }: Readable = socket
    this.#saved = Math.max(-MOST_OWED, this.#saved - WHOLE * sending)
    if (!handle || (this.#saved > 0 && this.length === 0)) return
    handle.readStop()
    this.#unread.push({ socket, since: performance.now() })
    if (this.length === 1) setTimeout(this.#look, PAUSE).unref()
  }

  /** The line of requests was worked on. */
  worked({ time, requests, isShort }: Worked): void {
    this.#isWorking = true
    this.#saved = Math.min(MOST_SAVED, this.#saved + (time * SHARE) / (1 - SHARE))
    if (this.length > 0) this.#readAgain(this.#saved > 0 || isShort ? STEP : requests)
  }

  /** So many, and those who were left unread for long. */
  #readAgain(count: number): void {
    const old = performance.now() - LONGEST
    let left = count
    for (let next = this.#unread.first; next !== undefined; next = this.#unread.first) {
      if (left <= 0 && next.since > old) return
      left--
      this.#unread.shift()
      next.socket._handle?.readStart()
    }
  }
}
