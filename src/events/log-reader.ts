/** Reads every event of the log once, in commit order, while there are subscribers. */
import type { Awaitable } from '../plan/answer.ts'
import { type ChangeFeed, type LoggedChange, maxBatchBytes } from './change-feed.ts'
import { isTemporary, type Outage } from './outage.ts'
import { checkResumable } from './resume.ts'

/**
 * How often the reader looks for commits of other processes. Their notifications can be lost, and a revoked credential
 * must end its subscriptions within a second.
 */
const pollIntervalMs = 200
const batchSize = 200
/** After this long, deliveries let the event loop do other work. */
const maxBlockingMs = 10

export interface LogReaderParts {
  readonly feed: ChangeFeed
  readonly outage: Outage
  /** Called before changes of these collections are delivered: a change may take rights from subscribers. */
  readonly beforeDelivery: (collections: ReadonlySet<string>) => Awaitable<void>
  /** Called when events were pruned before they were read. */
  readonly onLoss: (error: unknown) => void
  /** Returns undefined when the delivery is already complete. */
  readonly deliver: (change: LoggedChange) => Promise<void> | undefined
}

export class LogReader {
  readonly #parts: LogReaderParts
  /** The last event that was delivered: where reading resumes after an outage. */
  #last = 0
  #isWanted = false
  #starting: Promise<void> | undefined
  #stop: (() => void) | undefined
  #isReading = false
  /** Whether there may be events that the current read does not find. */
  #isBehind = false
  #isDelivering = false
  /** Faults other than outages since the last successful read. */
  #faults = 0

  constructor(parts: LogReaderParts) {
    this.#parts = parts
  }

  /** The last event that was delivered. */
  get position(): number {
    return this.#last
  }

  /** Resolves once every later event will be read. */
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
    const off = feed.onCommit(() => this.#notify())
    const timer = setInterval(() => this.#look(), pollIntervalMs).unref()
    this.#stop = () => {
      off()
      clearInterval(timer)
    }
    // For commits between `last()` and `onCommit()`.
    this.#notify()
  }

  async #look(): Promise<void> {
    const { feed, outage } = this.#parts
    try {
      await feed.look()
      if (!this.#isDelivering) outage.over()
    } catch (error) {
      outage.report(error)
    }
  }

  #notify(): void {
    this.#isBehind = true
    if (this.#isReading) return
    this.#isReading = true
    setImmediate(() => {
      this.#read()
        .then(
          () => this.#onSuccess(),
          error => this.#onFailure(error),
        )
        .finally(() => {
          this.#isReading = false
          if (this.#isBehind && this.#isWanted) this.#notify()
        })
    })
  }

  #onSuccess(): void {
    this.#faults = 0
    this.#parts.outage.over()
  }

  /**
   * Reading resumes at the event that failed, without waiting for the next commit. A fault that is no outage may last, and is
   * reported every time, so its pauses grow.
   */
  async #onFailure(error: unknown): Promise<void> {
    const { outage } = this.#parts
    outage.report(error)
    this.#isDelivering = false
    this.#isBehind = true
    await outage.pause(isTemporary(error) ? 0 : this.#faults++)
  }

  async #checkLoss(): Promise<void> {
    const bounds = await this.#parts.feed.bounds()
    try {
      checkResumable(this.#last, bounds)
    } catch (error) {
      this.#parts.onLoss(error)
    }
  }

  async #read(): Promise<void> {
    const { feed, beforeDelivery, deliver } = this.#parts
    this.#isBehind = false
    while (this.#isWanted) {
      const changes = await feed.after(this.#last, batchSize, maxBatchBytes)
      const [next] = changes
      if (!next) return
      if (next.event !== this.#last + 1) await this.#checkLoss()
      await beforeDelivery(new Set(changes.map(({ collection }) => collection)))
      let beganAt = performance.now()
      for (const change of changes) {
        this.#isDelivering = true
        const pending = deliver(change)
        if (pending) await pending
        this.#isDelivering = false
        this.#last = change.event
        if (performance.now() - beganAt < maxBlockingMs) continue
        await new Promise(resolve => setImmediate(resolve))
        beganAt = performance.now()
      }
    }
  }
}
