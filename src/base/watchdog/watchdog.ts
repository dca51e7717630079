/**
 * Runs code of the model. Code that takes longer than `slowMs` is reported. Code that does not return would block its
 * thread for ever: the watchdog, a thread of its own, ends the process. See `decisions/watchdog.md`.
 */
import { getEnvironmentData, isMainThread, setEnvironmentData, Worker } from 'node:worker_threads'
import { runMicrotasks } from '../microtasks.ts'
import { isBuilt } from '../package-files.ts'
import { owners, Slot, slotCount, slotMemory, systemThread, type WatchdogStart } from './slots.ts'

export interface Watchdog {
  /** The processor time after which the process is ended. */
  readonly limitMs: number
  /** Runs synchronous code. `place`: where the model declares it, e.g. `tasks.prepare`, for the log. */
  run<T>(place: string, work: () => T): T
  /**
   * Runs code, then its microtasks until none is left: an asynchronous function runs until it waits for something from
   * outside this turn.
   *
   * Call it while no other microtasks are queued, e.g. first in a callback of `setImmediate`: they would run within it. What it
   * leaves pending continues later unwatched: settle what it waits for within another `turn`.
   */
  turn<T>(place: string, work: () => T): T
}

export interface WatchdogOptions {
  /** The processor time after which the process is ended. Default 10 s. */
  readonly limitMs?: number
  /** Longer runs are reported. Default 50 ms. */
  readonly slowMs?: number
  /** Called when code has run longer than `slowMs`. */
  readonly onSlow?: (place: string, durationMs: number) => void
}

const memoryKey = 'portico.watchdog'

interface ThreadState {
  /** Null: the thread is not watched. */
  slot: Slot | null | undefined
  /** The place of the innermost code that runs. */
  place: string | undefined
}

const stateKey = Symbol.for(memoryKey)
/** This thread's, which all copies of this module in it share. */
const thread: ThreadState = Reflect.get(globalThis, stateKey) ?? { slot: undefined, place: undefined }
Reflect.set(globalThis, stateKey, thread)

export function createWatchdog(options: WatchdogOptions = {}): Watchdog {
  const { limitMs = 10_000, slowMs = 50, onSlow } = options
  const run = <T>(place: string, work: () => T): T => {
    if (thread.slot === undefined) thread.slot = claimSlot(startWatchdog())
    const { slot, place: outerPlace } = thread
    thread.place = place
    if (slot) {
      slot.place = place
      if (outerPlace === undefined) slot.enter(limitMs)
    }
    const began = performance.now()
    try {
      return work()
    } finally {
      const durationMs = performance.now() - began
      thread.place = outerPlace
      if (outerPlace === undefined) slot?.leave()
      else if (slot) slot.place = outerPlace
      if (durationMs > slowMs) onSlow?.(place, durationMs)
    }
  }
  return {
    limitMs,
    run,
    turn: (place, work) =>
      run(place, () => {
        const value = work()
        runMicrotasks()
        return value
      }),
  }
}

/**
 * Starts the watchdog unless it runs, and returns the memory that it watches. The first code of the model does so; a program
 * that starts threads does so before, for all of them to have one watchdog.
 */
export function startWatchdog(): SharedArrayBuffer {
  const existing = getEnvironmentData(memoryKey)
  if (existing instanceof SharedArrayBuffer) return existing
  const memory = slotMemory()
  setEnvironmentData(memoryKey, memory)
  const program = new URL(isBuilt ? './watchdog.js' : './thread.ts', import.meta.url)
  const mayInspect = process.permission?.has('inspector') !== false
  const workerData: WatchdogStart = { memory, mayInspect }
  try {
    const worker = new Worker(program, { workerData, execArgv: [], name: 'watchdog' })
    worker.on('error', cause => warnUnwatched(`there is no watchdog: ${cause}`)).unref()
  } catch (error) {
    warnUnwatched(`there is no watchdog: ${error}`)
  }
  return memory
}

/** E.g. under Node's permission model without `--allow-worker`. */
function warnUnwatched(cause: string): void {
  process.emitWarning(`Endless code of the model would block the service, because ${cause}`)
}

function claimSlot(memory: SharedArrayBuffer): Slot | null {
  for (let index = 0; index < slotCount; index++) {
    const slot = new Slot(memory, index)
    if (!slot.claim(isMainThread ? owners.mainThread : owners.worker)) continue
    slot.thread = systemThread()
    if (!isMainThread) process.once('exit', () => release(slot))
    return slot
  }
  warnUnwatched(`${slotCount} other threads run such code: this one is not watched.`)
  return null
}

function release(slot: Slot): void {
  thread.slot = null
  slot.release()
}
