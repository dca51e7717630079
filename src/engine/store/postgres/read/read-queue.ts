/**
 * Reads that wait for a connection. A slow read occupies its connection, and delays the reads that are sent with it. So one
 * caller cannot occupy all connections, nor the whole queue.
 */
import { temporaryRefusal } from '../../../../base/errors.ts'
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

/** A caller with reads in fewer pipelines is never held: one slow read must not delay its caller's others. */
const minHeldPipelines = 2
const nobody: ReadonlySet<string> = new Set()

interface OtherReads {
  readonly waiting: number
  waitingOf(caller: string): number
}

interface Pipeline {
  readonly callers: ReadonlySet<string>
  readonly startedAt: number
}

export class ReadQueue {
  readonly #maxWaiting: number
  readonly #maxWaitingOfCaller: number
  /** A caller with reads in so many slow pipelines is slow. */
  readonly #slowPipelines: number
  /** A caller with reads in so many pipelines gets no further connection if it is the last: they may turn out to be slow. */
  readonly #maxPipelinesOfCaller: number
  readonly #running = new Set<Pipeline>()
  #waiting: PendingRead[] = []

  constructor({ size, maxWaiting }: ReadQueueOptions) {
    this.#maxWaiting = maxWaiting
    this.#maxWaitingOfCaller = maxWaiting >> 2
    this.#slowPipelines = Math.max(minHeldPipelines, Math.ceil(size / 2))
    this.#maxPipelinesOfCaller = Math.max(minHeldPipelines, size - 1)
  }

  get length(): number {
    return this.#waiting.length
  }

  /** `others`: reads that wait elsewhere. Portico itself is the caller ''. */
  isFullFor(callers: ReadonlySet<string>, others: OtherReads): boolean {
    const count = this.#waiting.length + others.waiting
    if (count >= this.#maxWaiting) return true
    if (callers.has('') || count < this.#maxWaitingOfCaller) return false
    return [...callers].every(
      caller => this.#waitingOf(caller) + others.waitingOf(caller) >= this.#maxWaitingOfCaller,
    )
  }

  #waitingOf(caller: string): number {
    return this.#waiting.filter(({ callers }) => callers.has(caller)).length
  }

  add(read: PendingRead): void {
    this.#waiting.push(read)
  }

  /** Replaces the reads that wait by those that `select` returns. */
  retain(select: (reads: readonly PendingRead[]) => PendingRead[]): void {
    this.#waiting = select(this.#waiting)
  }

  /**
   * The reads for the next pipeline: those of held callers alone only if no others wait, and never if `isLast`, i.e. no other
   * connection is idle.
   */
  take(isLast: boolean): readonly PendingRead[] {
    const held = this.#heldCallers(isLast)
    const isFree = ({ callers }: PendingRead) => [...callers].some(caller => !held.has(caller))
    const reads = held.size === 0 ? [] : this.#waiting.filter(isFree)
    const next = reads.slice(0, maxReadsPerPipeline)
    if (held.size > 0 && (next.length > 0 || isLast)) {
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
    const pipeline = {
      callers: new Set(reads.flatMap(({ callers }) => [...callers])),
      startedAt: performance.now(),
    }
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

  /** The slow callers; for the last connection also those with reads in all other pipelines. */
  #heldCallers(isLast: boolean): ReadonlySet<string> {
    if (this.#running.size < minHeldPipelines) return nobody
    const slowSince = performance.now() - slowMs
    const running = [...this.#running]
    const slow = countCallers(running.filter(({ startedAt }) => startedAt <= slowSince))
    const held = callersWith(this.#slowPipelines, slow)
    const all = isLast ? callersWith(this.#maxPipelinesOfCaller, countCallers(running)) : []
    return new Set([...held, ...all])
  }
}

/** In how many of the pipelines each caller has reads. Portico itself is not counted. */
function countCallers(pipelines: readonly Pipeline[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { callers } of pipelines) {
    for (const caller of callers) if (caller !== '') counts.set(caller, (counts.get(caller) ?? 0) + 1)
  }
  return counts
}

function callersWith(min: number, counts: ReadonlyMap<string, number>): readonly string[] {
  return [...counts].filter(([, count]) => count >= min).map(([caller]) => caller)
}
