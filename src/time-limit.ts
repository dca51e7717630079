/**
 * A bound on how long code of the model may run: a loop without an end would stop the whole process. What takes longer
 * than `slowMs` is reported, what reaches `limitMs` is ended. See `decisions/time-limit.md`.
 *
 * Code that is ended runs no `catch` and no `finally` of its own: V8 unwinds its stack as far as the call to `run`.
 */
import { executionAsyncId } from 'node:async_hooks'
import { Session } from 'node:inspector'
import { Script } from 'node:vm'
import { endingLate } from './late-end.ts'

/** Thrown in place of a result that took too long. */
export class TimeLimitError extends Error {}

export interface TimeLimit {
  /**
   * Runs synchronous code of the model. Throws a `TimeLimitError` once it has run for the limit.
   * `place`: where the model declares it, e.g. `tasks.prepare`, for the log; asked once it is over. Costs about 10 µs.
   */
  run<T>(place: string | (() => string), work: () => T): T
  /**
   * Runs code of the model, and then the microtasks that it leaves, until none is left: an asynchronous function gets as
   * far as it can without anything from outside this turn. The same bound holds for all of it.
   *
   * Call it where no microtasks of others wait, e.g. as the first thing in a callback of `setImmediate`: they would run
   * within it, and would be lost with it when it is ended. What it starts and does not finish goes on later, unbounded:
   * settle what it waits for within another `turn`. `limitMs`: what is left, where several turns share a bound.
   * Costs about 0.1 ms.
   */
  turn<T>(place: string, work: () => T, limitMs?: number): T
}

export interface TimeLimitOptions {
  /** 1 s if left out. */
  readonly limitMs?: number
  /** From which duration on it is reported: 50 ms if left out. */
  readonly slowMs?: number
  /** Code has taken longer than `slowMs`. */
  readonly onSlow?: (place: string, durationMs: number) => void
  /** Nothing can be bounded, e.g. under Node's permission model without `--allow-inspector`. Called once. */
  readonly onUnbounded?: (cause: unknown) => void
}

/** Node's own way to run what waits in the queues of `nextTick` and of microtasks; it has no public name. */
const runQueues = Reflect.get(process, '_tickCallback') as (() => void) | undefined

/** How V8 runs the work so that it can be ended: throws `Ended` where it was. */
type Boundary = (limitMs: number) => void

class Ended extends Error {}

interface Call {
  readonly work: () => unknown
  outcome: { readonly value: unknown } | { readonly error: unknown } | undefined
}

/** The innermost call under way in this thread. */
let current: Call | undefined

/** The script calls it by its name, since a script can be given no argument. */
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
  const { limitMs: usualMs = 1000, slowMs = 50, onSlow, onUnbounded } = options
  let synchronous: Boundary | undefined

  function bounded<T>(place: string | (() => string), work: () => T, boundary: Boundary, limitMs: number): T {
    const began = performance.now()
    try {
      return within(work, boundary, limitMs)
    } catch (cause) {
      if (!(cause instanceof Ended)) throw cause
      throw new TimeLimitError(`${textOf(place)} was ended after ${Math.round(limitMs)} ms.`, { cause })
    } finally {
      const durationMs = performance.now() - began
      if (durationMs > slowMs) onSlow?.(textOf(place), durationMs)
    }
  }
  return {
    run(place, work) {
      synchronous ??= inspectorBoundary(onUnbounded)
      return bounded(place, work, synchronous, usualMs)
    },
    turn: (place, work, limitMs = usualMs) => {
      return bounded(place, () => withMicrotasks(work), scriptBoundary, Math.max(1, limitMs))
    },
  }
}

function textOf(place: string | (() => string)): string {
  return typeof place === 'string' ? place : place()
}

function within<T>(work: () => T, boundary: Boundary, limitMs: number): T {
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
 * `Runtime.evaluate` ends a script at its `timeout`, and makes an exception of the end, which costs a tenth of what `vm`
 * takes for it: `vm` starts a thread for each call. No debugger needs to be attached.
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
  return timeout => {
    session.post('Runtime.evaluate', { expression: source, silent: true, timeout })
  }
}

const script = new Script(source)

/** When V8 has not ended code this long after its limit, its end is lost. */
const lateMs = 20

/** Microtasks do not run within `Runtime.evaluate`. */
function scriptBoundary(timeout: number): void {
  const id = executionAsyncId()
  let isLate: boolean
  try {
    isLate = endingLate(() => script.runInThisContext({ timeout: Math.ceil(timeout) }), timeout + lateMs)
  } catch (cause) {
    if (!isTimeout(cause)) throw cause
    if (executionAsyncId() !== id) clearAsyncStack()
    dropRejections()
    throw new Ended(undefined, { cause })
  }
  if (isLate) throw new Ended()
}

/**
 * Where somebody has enabled `async_hooks`, what is ended within a microtask leaves its context on Node's stack of them,
 * which would then end the process. Node empties that stack itself once it has handled an exception that nobody caught.
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

/** What is ended leaves promises whose rejections nobody handles any more, which would end the process. */
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
