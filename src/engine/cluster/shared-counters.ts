/**
 * Rate counters in memory that the threads of one process share. Each key has a slot in a hash table with a
 * keyed hash. Counting is a compare-and-exchange, so no request waits for another thread.
 */
import { hash, randomBytes } from 'node:crypto'
import { type Budget, defaultWindowSeconds } from './cluster.ts'
import type { MemoryCounters } from './memory-counters.ts'

/** The memory of the counters, which is passed to every thread. */
export interface CounterMemory {
  readonly buffer: SharedArrayBuffer
  /** A secret key of the hash, so that nobody can choose keys that collide. */
  readonly seed: string
}

interface SharedCountersOptions {
  /** Milliseconds since the epoch; for tests. */
  readonly now?: () => number
}

/** A slot has a tag of 64 bits, and words of 32 bits at these offsets. */
const wordsPerSlot = 4
const windowEndOffset = 0
const usedOffset = 1
/** Grows when the slot is reassigned to another key. */
const generationOffset = 2
const slotBytes = 8 + wordsPerSlot * Int32Array.BYTES_PER_ELEMENT

/** The maximum number of slots that are probed for a key. If all are in use, the key takes over the one whose window ends first. */
const maxProbes = 64
/** The value of the window's end while a thread begins a new window. */
const windowPending = -1
/** How often a thread checks whether another thread has begun the window, before it considers that thread dead. */
const maxSpins = 10_000_000
/** Window ends are stored as seconds since 2025, so that they fit into 32 bits until 2093. */
const epochSeconds = 1_735_689_600
/** The maximum number of keys whose slots a thread caches. */
const maxCachedKeys = 100_000

/** Memory for the counters of `keys` keys, 24 bytes each. */
export function counterMemory(keys = 131_072): CounterMemory {
  return { buffer: new SharedArrayBuffer(keys * slotBytes), seed: randomBytes(16).toString('hex') }
}

interface Counter extends Budget {
  limit: number
  remaining: number
  resetAt: number
  granted: boolean
  slot: number
  generation: number
}

/** The counters in `memory`, as one thread uses them. */
export function sharedCounters(memory: CounterMemory, { now = Date.now }: SharedCountersOptions = {}) {
  return new SharedCounters(memory, now)
}

class SharedCounters implements MemoryCounters {
  readonly #now: () => number
  readonly #seed: string
  readonly #keys: number
  readonly #tags: BigInt64Array
  readonly #words: Int32Array
  readonly #cached = new Map<string, Counter>()
  #minute = 0

  constructor({ buffer, seed }: CounterMemory, now: () => number) {
    this.#now = now
    this.#seed = seed
    this.#keys = buffer.byteLength / slotBytes
    this.#tags = new BigInt64Array(buffer, 0, this.#keys)
    this.#words = new Int32Array(buffer, this.#keys * 8)
  }

  take(key: string, limit: number, cost: number, windowSeconds = defaultWindowSeconds): Budget {
    const counter = this.#counterInWindow(key, windowSeconds)
    const index = counter.slot * wordsPerSlot + usedOffset
    counter.limit = limit
    for (;;) {
      const used = Atomics.load(this.#words, index)
      const next = used + cost
      counter.granted = next <= limit
      counter.remaining = Math.max(0, limit - (counter.granted ? next : used))
      if (!counter.granted) return counter
      if (Atomics.compareExchange(this.#words, index, used, next) === used) return counter
    }
  }

  give(key: string, cost: number, windowSeconds = defaultWindowSeconds): void {
    const index = this.#counterInWindow(key, windowSeconds).slot * wordsPerSlot + usedOffset
    for (;;) {
      const used = Atomics.load(this.#words, index)
      if (Atomics.compareExchange(this.#words, index, used, Math.max(0, used - cost)) === used) return
    }
  }

  setUsed(key: string, used: number, resetAt: number, windowSeconds: number): void {
    const counter = this.#counterInWindow(key, windowSeconds)
    if (counter.resetAt === resetAt)
      Atomics.store(this.#words, counter.slot * wordsPerSlot + usedOffset, used)
  }

  /** The counter of a key in the current window. */
  #counterInWindow(key: string, windowSeconds: number): Counter {
    const seconds = Math.floor(this.#now() / 1000)
    const end = seconds - (seconds % windowSeconds) + windowSeconds - epochSeconds
    const counter = this.#counterFor(
      windowSeconds === defaultWindowSeconds ? key : `${windowSeconds} ${key}`,
      seconds,
    )
    counter.resetAt = this.#windowEnd(counter.slot * wordsPerSlot, end, windowSeconds) + epochSeconds
    return counter
  }

  /**
   * The end of the slot's window: `end`, for which a window begins if necessary, or the next one, if another thread's clock
   * is slightly ahead. A clock that was set back further begins a new window.
   */
  #windowEnd(index: number, end: number, windowSeconds: number): number {
    const words = this.#words
    for (let spins = 0; ; spins++) {
      const current = Atomics.load(words, index + windowEndOffset)
      if (current === end || (current > end && current - end <= windowSeconds)) return current
      if (current === windowPending && spins < maxSpins) continue
      if (
        current !== windowPending &&
        Atomics.compareExchange(words, index + windowEndOffset, current, windowPending) !== current
      )
        continue
      Atomics.store(words, index + usedOffset, 0)
      Atomics.store(words, index + windowEndOffset, end)
      return end
    }
  }

  #counterFor(key: string, seconds: number): Counter {
    const minute = Math.floor(seconds / 60)
    if (minute !== this.#minute) {
      this.#cached.clear()
      this.#minute = minute
    }
    const cached = this.#cached.get(key)
    if (
      cached !== undefined &&
      Atomics.load(this.#words, cached.slot * wordsPerSlot + generationOffset) === cached.generation
    ) {
      return cached
    }
    if (this.#cached.size >= maxCachedKeys) this.#cached.delete(this.#cached.keys().next().value ?? '')
    const slot = this.#slotFor(key)
    const generation = Atomics.load(this.#words, slot * wordsPerSlot + generationOffset)
    const counter: Counter = { limit: 0, remaining: 0, resetAt: 0, granted: true, slot, generation }
    this.#cached.set(key, counter)
    return counter
  }

  #slotFor(key: string): number {
    const digest = hash('sha256', `${this.#seed} ${key}`, 'buffer')
    const tag = digest.readBigInt64LE(0) || 1n
    const firstSlot = digest.readUInt32LE(8)
    for (;;) {
      let oldest = -1
      for (let step = 0; step < Math.min(maxProbes, this.#keys); step++) {
        const slot = (firstSlot + step) % this.#keys
        let current = Atomics.load(this.#tags, slot)
        if (current === 0n) current = Atomics.compareExchange(this.#tags, slot, 0n, tag)
        if (current === 0n || current === tag) return slot
        if (oldest === -1 || this.#isOlder(slot, oldest)) oldest = slot
      }
      if (this.#takeOver(oldest, tag)) return oldest
    }
  }

  /** Whether evicting the counter in `slot` loses less than evicting the one in `other`. */
  #isOlder(slot: number, other: number): boolean {
    const windowEnd = (index: number) => Atomics.load(this.#words, index * wordsPerSlot + windowEndOffset)
    const used = (index: number) => Atomics.load(this.#words, index * wordsPerSlot + usedOffset)
    return (
      windowEnd(slot) < windowEnd(other) || (windowEnd(slot) === windowEnd(other) && used(slot) < used(other))
    )
  }

  #takeOver(slot: number, tag: bigint): boolean {
    const previousTag = Atomics.load(this.#tags, slot)
    if (Atomics.compareExchange(this.#tags, slot, previousTag, tag) !== previousTag) return false
    Atomics.add(this.#words, slot * wordsPerSlot + generationOffset, 1)
    Atomics.store(this.#words, slot * wordsPerSlot + windowEndOffset, 0)
    return true
  }
}
