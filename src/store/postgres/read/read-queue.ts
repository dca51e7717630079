/**
 * Reads that wait for a connection. A slow read occupies its connection, and delays the reads that are sent with it. So one
 * caller cannot occupy the last connection, nor the whole queue.
 */
import { temporaryRefusal } from '../../../errors.ts'
import type { PendingRead } from './locked-reads.ts'

export interface ReadQueueOptions {
  /** How many connections there are. */
  readonly size: number
  /** How many reads may wait. One caller's may take a quarter of it. */
  readonly maxWaiting: number
}

/** How many reads share a pipeline: each round trip has its cost, but a slow read delays those sent with it. */
export const maxReadsPerPipeline = 32
/** A pipeline that runs for longer counts as slow, in milliseconds. */
const slowMs = 250

interface Pipeline {
  readonly callers: ReadonlySet<string>
  readonly startedAt: number
}

export class ReadQueue {
  readonly #maxWaiting: number
  readonly #maxWaitingOfCaller: number
  /** A caller with reads in so many slow pipelines is slow. One slow read must not delay its caller's others. */
  readonly #slowPipelines: number
  readonly #running = new Set<Pipeline>()
  #waiting: PendingRead[] = []

  constructor({ size, maxWaiting }: ReadQueueOptions) {
    this.#maxWaiting = maxWaiting
    this.#maxWaitingOfCaller = maxWaiting >> 2
    this.#slowPipelines = Math.max(2, Math.ceil(size / 2))
  }

  get length(): number {
    return this.#waiting.length
  }

  /** `others`: how many reads wait elsewhere. Portico itself is the caller ''. */
  isFullFor(caller: string, others: number): boolean {
    if (this.#waiting.length + others >= this.#maxWaiting) return true
    if (caller === '' || this.#waiting.length < this.#maxWaitingOfCaller) return false
    return this.#waiting.filter(read => read.caller === caller).length >= this.#maxWaitingOfCaller
  }

  add(read: PendingRead): void {
    this.#waiting.push(read)
  }

  /** Replaces the reads that wait by those that `select` returns. */
  retain(select: (reads: readonly PendingRead[]) => PendingRead[]): void {
    this.#waiting = select(this.#waiting)
  }

  /** The reads for the next pipeline; none if only slow callers' wait, and `isLast`: no other connection is idle. */
  take(isLast: boolean): readonly PendingRead[] {
    const slow = this.#slowCallers()
    const reads = slow.size === 0 ? [] : this.#waiting.filter(({ caller }) => !slow.has(caller))
    const next = reads.slice(0, maxReadsPerPipeline)
    if (slow.size > 0 && (next.length > 0 || isLast)) {
      const taken = new Set(next)
      this.#waiting = this.#waiting.filter(read => !taken.has(read))
      return next
    }
    return this.#waiting.splice(0, maxReadsPerPipeline)
  }

  /** Removes and returns all reads. */
  takeAll(): readonly PendingRead[] {
    return this.#waiting.splice(0)
  }

  /** The reads are sent. Returns a function to be called when they have been answered. */
  begin(reads: readonly PendingRead[]): () => void {
    const pipeline = { callers: new Set(reads.map(({ caller }) => caller)), startedAt: performance.now() }
    this.#running.add(pipeline)
    return () => this.#running.delete(pipeline)
  }

  /** Refuses the reads that have waited for too long. */
  refuseLate(now: number): void {
    const isLate = ({ deadline }: PendingRead) => deadline <= now
    const late = this.#waiting.filter(isLate)
    if (late.length === 0) return
    this.#waiting = this.#waiting.filter(read => !isLate(read))
    for (const { reject } of late)
      reject(temporaryRefusal('The database was too busy to answer this read in time.'))
  }

  #slowCallers(): ReadonlySet<string> {
    const slowSince = performance.now() - slowMs
    const counts = new Map<string, number>()
    for (const { callers, startedAt } of this.#running) {
      if (startedAt > slowSince) continue
      for (const caller of callers) counts.set(caller, (counts.get(caller) ?? 0) + 1)
    }
    counts.delete('')
    const slow = [...counts].filter(([, count]) => count >= this.#slowPipelines)
    return new Set(slow.map(([caller]) => caller))
  }
}
