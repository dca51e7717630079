/**
 * Rate counters in memory that the threads of one process share. Each key has a slot in a table, found by a
 * keyed hash; counting is a compare-and-exchange, so that no request waits for another thread.
 */
import { hash, randomBytes } from 'node:crypto'
import { type Budget, WINDOW } from './cluster.ts'
import type { MemoryCounters } from './memory.ts'

/** What threads hand each other. */
export interface CounterMemory {
  readonly buffer: SharedArrayBuffer
  /** Whoever does not know it cannot choose keys that meet in one slot. */
  readonly seed: string
}

interface SharedCountersOptions {
  /** Milliseconds since the epoch; for tests. */
  readonly now?: () => number
}

/** Every slot has a tag of 64 bits, and these words of 32. */
const WORDS = 4
const END = 0
const USED = 1
/** Grows when the slot is given to another key. */
const OWNER = 2
const SLOT_BYTES = 8 + WORDS * 4

/** How many slots a key may have: beyond, the one whose window ended first is given to it. */
const PROBES = 64
/** Stands in `END` while a thread begins a new window. */
const BEGINNING = -1
/** So often is looked whether it has begun, before the thread that was at it is taken for dead. */
const PATIENCE = 10_000_000
/** Windows end at seconds that are counted from here, 2025, so that they fit into 32 bits until 2093. */
const EPOCH = 1_735_689_600
/** A thread remembers the slots of so many keys. */
const MAX_KNOWN = 100_000

/** Room for so many keys at a time. 24 bytes each. */
export function counterMemory(keys = 131_072): CounterMemory {
  return { buffer: new SharedArrayBuffer(keys * SLOT_BYTES), seed: randomBytes(16).toString('hex') }
}

interface Counter extends Budget {
  limit: number
  remaining: number
  resetAt: number
  granted: boolean
  slot: number
  owner: number
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
    this.#keys = buffer.byteLength / SLOT_BYTES
    this.#tags = new BigInt64Array(buffer, 0, this.#keys)
    this.#words = new Int32Array(buffer, this.#keys * 8)
  }

  take(key: string, limit: number, cost: number, window = WINDOW): Budget {
    const counter = this.#current(key, window)
    const at = counter.slot * WORDS + USED
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

  give(key: string, cost: number, window = WINDOW): void {
    const at = this.#current(key, window).slot * WORDS + USED
    for (;;) {
      const used = Atomics.load(this.#words, at)
      if (Atomics.compareExchange(this.#words, at, used, Math.max(0, used - cost)) === used) return
    }
  }

  note(key: string, used: number, resetAt: number, window: number): void {
    const counter = this.#current(key, window)
    if (counter.resetAt === resetAt) Atomics.store(this.#words, counter.slot * WORDS + USED, used)
  }

  /** The counter of a key, in the window that is now. */
  #current(key: string, window: number): Counter {
    const seconds = Math.floor(this.#now() / 1000)
    const end = seconds - (seconds % window) + window - EPOCH
    const counter = this.#counter(window === WINDOW ? key : `${window} ${key}`, seconds)
    counter.resetAt = this.#windowAt(counter.slot * WORDS, end, window) + EPOCH
    return counter
  }

  /**
   * The window that the slot is in: the one that ends at `end`, begun if need be, or the next one, when
   * another thread's clock is a moment ahead. A clock that was set back by more begins anew.
   */
  #windowAt(at: number, end: number, window: number): number {
    const words = this.#words
    for (let tries = 0; ; tries++) {
      const there = Atomics.load(words, at + END)
      if (there === end || (there > end && there - end <= window)) return there
      if (there === BEGINNING && tries < PATIENCE) continue
      if (there !== BEGINNING && Atomics.compareExchange(words, at + END, there, BEGINNING) !== there)
        continue
      Atomics.store(words, at + USED, 0)
      Atomics.store(words, at + END, end)
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
    if (known !== undefined && Atomics.load(this.#words, known.slot * WORDS + OWNER) === known.owner) {
      return known
    }
    if (this.#known.size >= MAX_KNOWN) this.#known.delete(this.#known.keys().next().value ?? '')
    const slot = this.#slot(key)
    const owner = Atomics.load(this.#words, slot * WORDS + OWNER)
    const made: Counter = { limit: 0, remaining: 0, resetAt: 0, granted: true, slot, owner }
    this.#known.set(key, made)
    return made
  }

  #slot(key: string): number {
    const digest = hash('sha256', `${this.#seed} ${key}`, 'buffer')
    const tag = digest.readBigInt64LE(0) || 1n
    const home = digest.readUInt32LE(8)
    for (;;) {
      let oldest = -1
      for (let step = 0; step < Math.min(PROBES, this.#keys); step++) {
        const slot = (home + step) % this.#keys
        let there = Atomics.load(this.#tags, slot)
        if (there === 0n) there = Atomics.compareExchange(this.#tags, slot, 0n, tag)
        if (there === 0n || there === tag) return slot
        if (oldest === -1 || this.#isOlder(slot, oldest)) oldest = slot
      }
      if (this.#takeOver(oldest, tag)) return oldest
    }
  }

  /** Whether less is lost when the counter in `slot` is forgotten than the one in `other`. */
  #isOlder(slot: number, other: number): boolean {
    const ends = (at: number) => Atomics.load(this.#words, at * WORDS + END)
    const used = (at: number) => Atomics.load(this.#words, at * WORDS + USED)
    return ends(slot) < ends(other) || (ends(slot) === ends(other) && used(slot) < used(other))
  }

  #takeOver(slot: number, tag: bigint): boolean {
    const before = Atomics.load(this.#tags, slot)
    if (Atomics.compareExchange(this.#tags, slot, before, tag) !== before) return false
    Atomics.add(this.#words, slot * WORDS + OWNER, 1)
    Atomics.store(this.#words, slot * WORDS + END, 0)
    return true
  }
}
