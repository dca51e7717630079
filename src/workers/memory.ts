/** What the workers of one process share in memory. */
import { type CounterMemory, counterMemory } from '../cluster/shared-counters.ts'

/** Cloned to every worker; the buffers are the same ones. */
export interface SharedMemory {
  readonly counters: CounterMemory
  /** The words of the database file: see below. */
  readonly file: SharedArrayBuffer
}

/** Grows with each commit. */
export const COMMITS = 0
/** Who writes: a worker's number plus one; 0: nobody. */
export const WRITER = 1
/** Grows with each write that the database could not store. */
export const FAILURES = 2
const FIRST = 3

/** Where stands whether a worker lives. */
export function livesAt(worker: number): number {
  return FIRST + worker * 2
}

/** Where stands whether a worker waits to write. */
export function waitsAt(worker: number): number {
  return FIRST + worker * 2 + 1
}

export function workersIn(words: Int32Array): number {
  return (words.length - FIRST) / 2
}

export function sharedMemory(workers: number): SharedMemory {
  return { counters: counterMemory(), file: new SharedArrayBuffer((FIRST + workers * 2) * 4) }
}
