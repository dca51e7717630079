/** The memory that the workers of one process share. */
import { type CounterMemory, counterMemory } from '../../engine/cluster/shared-counters.ts'

/** Cloned to every worker; the buffers are shared. */
export interface SharedMemory {
  readonly counters: CounterMemory
  /** 32-bit words about the database file, at the indexes below. */
  readonly file: SharedArrayBuffer
}

/** Grows with each commit. */
export const commitsIndex = 0
/** The holder of the write lock: the worker's number plus one; 0 if the lock is free. */
export const writerIndex = 1
/** Grows with each write that the database could not store. */
export const failuresIndex = 2
const firstWorkerIndex = 3

/** The index of the word that says whether a worker is alive. */
export function aliveIndex(worker: number): number {
  return firstWorkerIndex + worker * 2
}

/** The index of the word that says whether a worker waits for the write lock. */
export function waitingIndex(worker: number): number {
  return firstWorkerIndex + worker * 2 + 1
}

export function workersIn(words: Int32Array): number {
  return (words.length - firstWorkerIndex) / 2
}

export function sharedMemory(workers: number): SharedMemory {
  const words = firstWorkerIndex + workers * 2
  return { counters: counterMemory(), file: new SharedArrayBuffer(words * Int32Array.BYTES_PER_ELEMENT) }
}
