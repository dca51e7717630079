/** The memory that threads share with the watchdog: what each of them runs. */
import { readlinkSync } from 'node:fs'

/** The `workerData` of the watchdog. */
export interface WatchdogStart {
  readonly memory: SharedArrayBuffer
  /** False under Node's permission model without `--allow-inspector`. */
  readonly mayInspect: boolean
}

const slotWords = 32
/** A thread that finds no free slot is not watched. */
export const slotCount = 64
const placeOffsetBytes = 20
const maxPlaceBytes = slotWords * 4 - placeOffsetBytes

/** Whose a slot is. */
export const owners = { nobody: 0, mainThread: 1, worker: 2 } as const

export function slotMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(slotCount * slotWords * Int32Array.BYTES_PER_ELEMENT)
}

/** The system's number of the calling thread; 0 where the system has no `/proc`. */
export function systemThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return 0
  }
}

/** One thread's part of the memory. */
export class Slot {
  readonly #words: Int32Array
  readonly #start: number
  readonly #text: Buffer

  constructor(memory: SharedArrayBuffer, index: number) {
    this.#words = new Int32Array(memory)
    this.#start = index * slotWords
    this.#text = Buffer.from(memory, this.#start * 4 + placeOffsetBytes, maxPlaceBytes)
  }

  /** Whether the slot was free, and now has this owner. */
  claim(owner: number): boolean {
    if (Atomics.compareExchange(this.#words, this.#start, owners.nobody, owner) !== owners.nobody)
      return false
    this.#leaveUnfinished()
    return true
  }

  release(): void {
    this.#leaveUnfinished()
    this.thread = 0
    Atomics.store(this.#words, this.#start, owners.nobody)
  }

  /** Releases the slot of a thread that has ended, unless it has released it, and another thread may have claimed it. */
  releaseFrom(thread: number): void {
    if (Atomics.compareExchange(this.#words, this.#start + 1, thread, 0) === thread) this.release()
  }

  get owner(): number {
    return Atomics.load(this.#words, this.#start)
  }

  /** The system's number of the thread; 0 if unknown. */
  get thread(): number {
    return Atomics.load(this.#words, this.#start + 1)
  }

  set thread(id: number) {
    Atomics.store(this.#words, this.#start + 1, id)
  }

  /** Odd while code of the model runs. Grows at the beginning and at the end. */
  get entries(): number {
    return Atomics.load(this.#words, this.#start + 2)
  }

  get limitMs(): number {
    return Atomics.load(this.#words, this.#start + 3)
  }

  get place(): string {
    return this.#text.toString('utf8', 0, Atomics.load(this.#words, this.#start + 4))
  }

  set place(place: string) {
    Atomics.store(this.#words, this.#start + 4, this.#text.write(place))
  }

  enter(limitMs: number): void {
    Atomics.store(this.#words, this.#start + 3, limitMs)
    Atomics.add(this.#words, this.#start + 2, 1)
  }

  leave(): void {
    Atomics.add(this.#words, this.#start + 2, 1)
  }

  /** Leaves the code during which the thread ended: its `finally` has not run. */
  #leaveUnfinished(): void {
    if (this.entries % 2 !== 0) this.leave()
  }
}
