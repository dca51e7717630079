/** Reads every event of the log once, in commit order, while there are subscribers. */
import type { Awaitable } from '../../base/awaitable.ts'
import { maxBatchBytes } from '../../engine/log/log-batch.ts'
import { isTemporary, type Outage } from '../../engine/log/outage.ts'
import type { ChangeFeed, LoggedChange } from '../../engine/plan/change-feed.ts'
import { checkResumable } from './resume.ts'

/**
 * How often the reader looks for commits of other processes. Their notifications can be lost, and a revoked credential
 * must end its subscriptions within a second.
 */
const pollIntervalMs = 200
const batchSize = 200
/** The longest time for which deliveries block the event loop. */
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
  /** The last event that was delivered: reading resumes after it. */
  #position = 0
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
    return this.#position
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
    this.#position = await feed.last()
    const stopListening = feed.onCommit(() => this.#notify())
    const timer = setInterval(() => this.#poll(), pollIntervalMs).unref()
    this.#stop = () => {
      stopListening()
      clearInterval(timer)
    }
    // For commits between `last()` and `onCommit()`.
    this.#notify()
  }

  async #poll(): Promise<void> {
    const { feed, outage } = this.#parts
    try {
      await feed.poll()
      if (!this.#isDelivering) outage.end()
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
    this.#parts.outage.end()
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

  async #reportLoss(): Promise<void> {
    const bounds = await this.#parts.feed.bounds()
    try {
      checkResumable(this.#position, bounds)
    } catch (error) {
      this.#parts.onLoss(error)
    }
  }

  async #read(): Promise<void> {
    const { feed, beforeDelivery, deliver } = this.#parts
    this.#isBehind = false
    while (this.#isWanted) {
      const changes = await feed.after(this.#position, batchSize, maxBatchBytes)
      const [first] = changes
      if (!first) return
      if (first.event !== this.#position + 1) await this.#reportLoss()
      await beforeDelivery(new Set(changes.map(({ collection }) => collection)))
      let blockedSince = performance.now()
      for (const change of changes) {
        this.#isDelivering = true
        const pending = deliver(change)
        if (pending) await pending
        this.#isDelivering = false
        this.#position = change.event
        if (performance.now() - blockedSince < maxBlockingMs) continue
        await new Promise(resolve => setImmediate(resolve))
        blockedSince = performance.now()
      }
    }
  }
}
