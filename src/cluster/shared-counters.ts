/**
 * Rate counters in memory that the threads of one process share. Each key has a slot in a table, found by a
 * keyed hash; counting is a compare-and-exchange, so that no request waits for another thread.
 */
import { hash, randomBytes } from 'node:crypto'
import { type Budget, defaultWindowSeconds } from './cluster.ts'
import type { MemoryCounters } from './memory-counters.ts'

/** The memory of the counters, which is passed to every thread. */
export interface CounterMemory {
  readonly buffer: SharedArrayBuffer
  /** A secret, so that nobody can choose keys that collide. */
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

/** The most slots that are probed for a key. If all are taken, the key gets the one whose window ended first. */
const maxProbes = 64
/** The value of the window's end while a thread begins a new window. */
const beginning = -1
/** How often another thread checks whether the window has begun, before it considers that thread dead. */
const maxSpins = 10_000_000
/** Ends of windows are seconds since 2025, so that they fit into 32 bits until 2093. */
const epochSeconds = 1_735_689_600
/** The most keys whose slots a thread caches. */
const maxKnownKeys = 100_000

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
  readonly #known = new Map<string, Counter>()
  #minute = 0

  constructor({ buffer, seed }: CounterMemory, now: () => number) {
    this.#now = now
    this.#seed = seed
    this.#keys = buffer.byteLength / slotBytes
    this.#tags = new BigInt64Array(buffer, 0, this.#keys)
    this.#words = new Int32Array(buffer, this.#keys * 8)
  }

  take(key: string, limit: number, cost: number, window = defaultWindowSeconds): Budget {
    const counter = this.#current(key, window)
    const at = counter.slot * wordsPerSlot + usedOffset
    counter.limit = limit
    for (;;) {
      const used = Atomics.load(this.#words, at)
      const next = used + cost
      counter.granted = next <= limit
      counter.remaining = Math.max(0, limit - (counter.granted ? next : used))
      if (!counter.granted) return counter
      if (Atomics.compareExchange(this.#words, at, used, next) === used) return counter
    }
  }

  give(key: string, cost: number, window = defaultWindowSeconds): void {
    const at = this.#current(key, window).slot * wordsPerSlot + usedOffset
    for (;;) {
      const used = Atomics.load(this.#words, at)
      if (Atomics.compareExchange(this.#words, at, used, Math.max(0, used - cost)) === used) return
    }
  }

  note(key: string, used: number, resetAt: number, window: number): void {
    const counter = this.#current(key, window)
    if (counter.resetAt === resetAt)
      Atomics.store(this.#words, counter.slot * wordsPerSlot + usedOffset, used)
  }

  /** The counter of a key in the current window. */
  #current(key: string, window: number): Counter {
    const seconds = Math.floor(this.#now() / 1000)
    const end = seconds - (seconds % window) + window - epochSeconds
    const counter = this.#counter(window === defaultWindowSeconds ? key : `${window} ${key}`, seconds)
    counter.resetAt = this.#windowAt(counter.slot * wordsPerSlot, end, window) + epochSeconds
    return counter
  }

  /**
   * The end of the slot's window: `end`, for which a window begins if necessary, or the next one, if another thread's clock
   * is slightly ahead. A clock that was set back further begins a new window.
   */
  #windowAt(at: number, end: number, window: number): number {
    const words = this.#words
    for (let tries = 0; ; tries++) {
      const current = Atomics.load(words, at + windowEndOffset)
      if (current === end || (current > end && current - end <= window)) return current
      if (current === beginning && tries < maxSpins) continue
      if (
        current !== beginning &&
        Atomics.compareExchange(words, at + windowEndOffset, current, beginning) !== current
      )
        continue
      Atomics.store(words, at + usedOffset, 0)
      Atomics.store(words, at + windowEndOffset, end)
      return end
    }
  }

  #counter(key: string, seconds: number): Counter {
    const minute = Math.floor(seconds / 60)
    if (minute !== this.#minute) {
      this.#known.clear()
      this.#minute = minute
    }
    const known = this.#known.get(key)
    if (
      known !== undefined &&
      Atomics.load(this.#words, known.slot * wordsPerSlot + generationOffset) === known.generation
    ) {
      return known
    }
    if (this.#known.size >= maxKnownKeys) this.#known.delete(this.#known.keys().next().value ?? '')
    const slot = this.#slot(key)
    const generation = Atomics.load(this.#words, slot * wordsPerSlot + generationOffset)
    const counter: Counter = { limit: 0, remaining: 0, resetAt: 0, granted: true, slot, generation }
    this.#known.set(key, counter)
    return counter
  }

  #slot(key: string): number {
    const digest = hash('sha256', `${this.#seed} ${key}`, 'buffer')
    const tag = digest.readBigInt64LE(0) || 1n
    const home = digest.readUInt32LE(8)
    for (;;) {
      let oldest = -1
      for (let step = 0; step < Math.min(maxProbes, this.#keys); step++) {
        const slot = (home + step) % this.#keys
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
    const ends = (at: number) => Atomics.load(this.#words, at * wordsPerSlot + windowEndOffset)
    const used = (at: number) => Atomics.load(this.#words, at * wordsPerSlot + usedOffset)
    return ends(slot) < ends(other) || (ends(slot) === ends(other) && used(slot) < used(other))
  }

  #takeOver(slot: number, tag: bigint): boolean {
    const before = Atomics.load(this.#tags, slot)
    if (Atomics.compareExchange(this.#tags, slot, before, tag) !== before) return false
    Atomics.add(this.#words, slot * wordsPerSlot + generationOffset, 1)
    Atomics.store(this.#words, slot * wordsPerSlot + windowEndOffset, 0)
    return true
  }
}
