/**
 * A time limit for code of the model: an endless loop would block the whole process. Code that runs longer than `slowMs` is
 * reported, code that reaches `limitMs` is ended. See `decisions/time-limit.md`.
 *
 * Code that is ended runs none of its `catch` and `finally` blocks: V8 unwinds its stack to the call of `run`.
 */
import { executionAsyncId } from 'node:async_hooks'
import { Session } from 'node:inspector'
import { Script } from 'node:vm'
import { runWithForcedTermination } from './forced-termination.ts'

/** Thrown in place of a result when the code took too long. */
export class TimeLimitError extends Error {}

export interface TimeLimit {
  /**
   * Runs synchronous code of the model. Throws a `TimeLimitError` once it has run for the limit.
   * `place`: where the model declares it, e.g. `tasks.prepare`, for the log; evaluated afterwards. Costs about 10 µs.
   */
  run<T>(place: string | (() => string), work: () => T): T
  /**
   * Runs code of the model, then its microtasks until none is left: an asynchronous function runs until it waits for
   * something from outside this turn. The same limit applies to all of it.
   *
   * Call it while no other microtasks are queued, e.g. first in a callback of `setImmediate`: they would run within it, and
   * be lost with it if it is ended. What it leaves pending continues later without a limit: settle what it waits for within
   * another `turn`. `limitMs`: the remaining time, if several turns share a limit. Costs about 0.1 ms.
   */
  turn<T>(place: string, work: () => T, limitMs?: number): T
}

export interface TimeLimitOptions {
  /** Default 1 s. */
  readonly limitMs?: number
  /** Longer runs are reported. Default 50 ms. */
  readonly slowMs?: number
  /** Called when code has run longer than `slowMs`. */
  readonly onSlow?: (place: string, durationMs: number) => void
  /** Called once if no limit is possible, e.g. under Node's permission model without `--allow-inspector`. */
  readonly onUnbounded?: (cause: unknown) => void
}

/** Node's internal function that runs the queues of `nextTick` and of microtasks. */
const runQueues = Reflect.get(process, '_tickCallback') as (() => void) | undefined

/** Runs the current call so that V8 can terminate it. Throws `Ended` if it did. */
type Boundary = (limitMs: number) => void

class Ended extends Error {}

interface Call {
  readonly work: () => unknown
  outcome: { readonly value: unknown } | { readonly error: unknown } | undefined
}

/** The innermost running call of this thread. */
let current: Call | undefined

/** The global name by which the script finds the function: scripts take no arguments. */
const entry = 'portico.time-limit'

function runCurrent(): void {
  const call = current
  if (call === undefined) return
  try {
    call.outcome = { value: call.work() }
  } catch (error) {
    call.outcome = { error }
  }
}

Object.defineProperty(globalThis, Symbol.for(entry), { value: runCurrent, configurable: true })
const source = `globalThis[Symbol.for('${entry}')]()`

export function createTimeLimit(options: TimeLimitOptions = {}): TimeLimit {
  const { limitMs: defaultLimitMs = 1000, slowMs = 50, onSlow, onUnbounded } = options
  let synchronous: Boundary | undefined

  function runBounded<T>(
    place: string | (() => string),
    work: () => T,
    boundary: Boundary,
    limitMs: number,
  ): T {
    const began = performance.now()
    try {
      return runWithin(work, boundary, limitMs)
    } catch (cause) {
      if (!(cause instanceof Ended)) throw cause
      throw new TimeLimitError(`${placeText(place)} was ended after ${Math.round(limitMs)} ms.`, { cause })
    } finally {
      const durationMs = performance.now() - began
      if (durationMs > slowMs) onSlow?.(placeText(place), durationMs)
    }
  }
  return {
    run(place, work) {
      synchronous ??= inspectorBoundary(onUnbounded)
      return runBounded(place, work, synchronous, defaultLimitMs)
    },
    turn: (place, work, limitMs = defaultLimitMs) => {
      return runBounded(place, () => withMicrotasks(work), scriptBoundary, Math.max(1, limitMs))
    },
  }
}

function placeText(place: string | (() => string)): string {
  return typeof place === 'string' ? place : place()
}

function runWithin<T>(work: () => T, boundary: Boundary, limitMs: number): T {
  const outer = current
  const call: Call = { work, outcome: undefined }
  current = call
  try {
    boundary(limitMs)
  } finally {
    current = outer
  }
  const { outcome } = call
  if (outcome === undefined) throw new Ended()
  if ('error' in outcome) throw outcome.error
  return outcome.value as T
}

/**
 * `Runtime.evaluate` ends a script at its `timeout` and reports it as an exception, at a tenth of the cost of `vm`, which
 * starts a thread for each call. No debugger needs to be attached.
 * https://chromedevtools.github.io/devtools-protocol/tot/Runtime/#method-evaluate
 */
function inspectorBoundary(onUnbounded: TimeLimitOptions['onUnbounded']): Boundary {
  let session: Session
  try {
    session = new Session()
    session.connect()
  } catch (cause) {
    onUnbounded?.(cause)
    return runCurrent
  }
  return limitMs => {
    session.post('Runtime.evaluate', { expression: source, silent: true, timeout: limitMs })
  }
}

const script = new Script(source)

/** If V8 has not terminated code this long after its limit, the termination was lost. */
const lateMs = 20

/** Microtasks do not run within `Runtime.evaluate`. */
function scriptBoundary(limitMs: number): void {
  const id = executionAsyncId()
  let isLate: boolean
  try {
    isLate = runWithForcedTermination(
      () => script.runInThisContext({ timeout: Math.ceil(limitMs) }),
      limitMs + lateMs,
    )
  } catch (cause) {
    if (!isTimeout(cause)) throw cause
    if (executionAsyncId() !== id) clearAsyncStack()
    dropRejections()
    throw new Ended(undefined, { cause })
  }
  if (isLate) throw new Ended()
}

/**
 * With `async_hooks` enabled, code that is ended within a microtask leaves its context on Node's stack of async contexts,
 * which would then end the process. Node clears that stack itself after an uncaught exception.
 */
function clearAsyncStack(): void {
  if (process.hasUncaughtExceptionCaptureCallback()) return
  process.setUncaughtExceptionCaptureCallback(() => {})
  try {
    queueMicrotask(() => {
      throw new Ended()
    })
    runQueues?.()
  } finally {
    process.setUncaughtExceptionCaptureCallback(null)
  }
}

/** Code that was ended leaves promises whose unhandled rejections would end the process. */
function dropRejections(): void {
  const drop = () => {}
  process.on('unhandledRejection', drop)
  try {
    runQueues?.()
  } finally {
    process.off('unhandledRejection', drop)
  }
}

function isTimeout(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}

function withMicrotasks<T>(work: () => T): T {
  const value = work()
  runQueues?.()
  return value
}
