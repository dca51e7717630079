/** Reads every event of the log once, in commit order, while somebody waits for events. */
import type { Awaitable } from '../plan/answer.ts'
import type { Feed, LoggedChange } from './feed.ts'
import { isPassing, type Outage } from './outage.ts'

/**
 * How often other processes' commits are looked for, in milliseconds: a wake-up of theirs may be lost, and what
 * was revoked must end within a second.
 */
const LOOK = 200
const BATCH = 200
/** How long deliveries may keep everything else waiting, in milliseconds. */
const TURN = 10

export interface LogReaderParts {
  readonly feed: Feed
  readonly outage: Outage
  /** Before events of a collection are delivered: credentials may hang on it. */
  readonly beforeDelivery: (collections: ReadonlySet<string>) => Awaitable<void>
  /** Undefined: it is done. */
  readonly deliver: (change: LoggedChange) => Promise<void> | undefined
}

export class LogReader {
  readonly #parts: LogReaderParts
  #last = 0
  #isWanted = false
  #starting: Promise<void> | undefined
  #stop: (() => void) | undefined
  #pumping = false
  #again = false
  #isDelivering = false

  constructor(parts: LogReaderParts) {
    this.#parts = parts
  }

  /** Resolves once no later event goes unread. */
  start(): Promise<void> {
    this.#isWanted = true
    this.#starting ??= this.#begin()
    return this.#starting
  }

  stop(): void {
    this.#isWanted = false
    this.#stop?.()
    this.#stop = undefined
    this.#starting = undefined
  }

  async #begin(): Promise<void> {
    const { feed } = this.#parts
    this.#last = await feed.last()
    const off = feed.onCommit(() => this.#wake())
    const timer = setInterval(() => this.#look(), LOOK).unref()
    this.#stop = () => {
      off()
      clearInterval(timer)
    }
    // Something may have been committed after the question and before anybody listened.
    this.#wake()
  }

  async #look(): Promise<void> {
    const { feed, outage } = this.#parts
    try {
      await feed.look()
      if (!this.#isDelivering) outage.over()
    } catch (error) {
      outage.tell(error)
    }
  }

  #wake(): void {
    this.#again = true
    if (this.#pumping) return
    this.#pumping = true
    setImmediate(() => {
      this.#pump()
        .then(
          () => this.#parts.outage.over(),
          error => this.#stumble(error),
        )
        .finally(() => {
          this.#pumping = false
          if (this.#again && this.#isWanted) this.#wake()
        })
    })
  }

  /** What the log could not tell now, it will tell later. */
  async #stumble(error: unknown): Promise<void> {
    const { outage } = this.#parts
    outage.tell(error)
    if (!isPassing(error)) return
    this.#again = true
    await outage.pause()
  }

  async #pump(): Promise<void> {
    const { feed, beforeDelivery, deliver } = this.#parts
    this.#again = false
    while (this.#isWanted) {
      const events = await feed.after(this.#last, BATCH)
      if (events.length === 0) return
      await beforeDelivery(new Set(events.map(event => event.collection)))
      let began = performance.now()
      for (const event of events) {
        this.#isDelivering = true
        const delivered = deliver(event)
        if (delivered) await delivered
        this.#isDelivering = false
        this.#last = event.event
        if (performance.now() - began < TURN) continue
        await new Promise(resolve => setImmediate(resolve))
        began = performance.now()
      }
    }
  }
}
