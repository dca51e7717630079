/** The watchdog: the thread that `watchdog.ts` starts. It ends the process if code of the model does not return. */
import { existsSync, readFileSync, writeSync } from 'node:fs'
import { type Debugger, Session } from 'node:inspector'
import { setTimeout as wait } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { owners, Slot, slotCount, systemThread, type WatchdogStart } from './slots.ts'

const intervalMs = 250
/** While no code of the model runs. */
const idleIntervalMs = 500
/** How long the main thread may take to answer: it cannot within native code. */
const answerMs = 5000
const maxFrames = 20
/** EX_SOFTWARE of sysexits.h. */
const exitCode = 70

interface Watched {
  readonly slot: Slot
  entries: number
  /** The processor time of the thread when it was first seen in this code; undefined if the system does not tell. */
  startMs: number | undefined
  /** The time in this code, without times in which the process was suspended. */
  elapsedMs: number
}

const { memory, mayInspect }: WatchdogStart = workerData
const watched: readonly Watched[] = Array.from({ length: slotCount }, (_, index) => ({
  slot: new Slot(memory, index),
  entries: 0,
  startMs: undefined,
  elapsedMs: 0,
}))

/** In milliseconds; undefined if the system does not tell, or the thread has ended. */
function processorTime(thread: number): number | undefined {
  if (thread === 0) return undefined
  try {
    const stat = readFileSync(`${taskPath(thread)}/stat`, 'latin1')
    // proc_pid_stat(5): the name, in parentheses, is the second field; `utime` and `stime` are the 14th and 15th, in 1/100 s.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return undefined
  }
}

const taskPath = (thread: number) => `/proc/self/task/${thread}`
const ownThread = systemThread()

/** Whether the system tells that the thread has ended. */
function hasEnded(thread: number): boolean {
  return thread !== 0 && !existsSync(taskPath(thread)) && existsSync(taskPath(ownThread))
}

/** Looks at all slots. Returns the first with code that has reached its limit, and whether any code has run since the last look. */
function look(sinceMs: number): { readonly stuck: Watched | undefined; readonly isActive: boolean } {
  let stuck: Watched | undefined
  let isActive = false
  for (const state of watched) {
    const { slot } = state
    const { thread } = slot
    if (hasEnded(thread)) slot.releaseFrom(thread)
    const entries = slot.owner === owners.nobody ? 0 : slot.entries
    const isInside = entries % 2 !== 0
    isActive ||= isInside || entries !== state.entries
    if (entries !== state.entries) {
      state.entries = entries
      state.startMs = isInside ? processorTime(slot.thread) : undefined
      state.elapsedMs = 0
    } else if (isInside && timeOf(state, sinceMs) >= slot.limitMs) stuck ??= state
  }
  return { stuck, isActive }
}

function timeOf(state: Watched, sinceMs: number): number {
  state.elapsedMs += Math.min(sinceMs, 2 * intervalMs)
  if (state.startMs === undefined) return state.elapsedMs
  return (processorTime(state.slot.thread) ?? state.startMs) - state.startMs
}

function connect(): Session | undefined {
  // Node would abort.
  if (!mayInspect) return undefined
  try {
    const session = new Session()
    session.connectToMainThread()
    return session
  } catch {
    return undefined
  }
}

/** Evaluates an expression in the main thread, in or between whatever it runs. Undefined if it does not answer. */
function evaluate(session: Session, expression: string): Promise<{ readonly value: unknown } | undefined> {
  return new Promise(resolve => {
    session.post('Runtime.evaluate', { expression, returnByValue: true }, (error, answer) =>
      resolve(error ? undefined : { value: answer.result.value }),
    )
    setTimeout(() => resolve(undefined), answerMs)
  })
}

/** The stack of the main thread, with the innermost call first. Leaves it paused. Empty if it does not pause. */
function stackOf(session: Session): Promise<readonly string[]> {
  return new Promise(resolve => {
    const files = new Map<string, string>()
    session.on('Debugger.scriptParsed', ({ params }) => files.set(params.scriptId, params.url))
    session.on('Debugger.paused', ({ params }) =>
      resolve(params.callFrames.slice(0, maxFrames).map(frame => frameText(frame, files))),
    )
    session.post('Debugger.enable')
    session.post('Debugger.pause')
    setTimeout(() => resolve([]), answerMs)
  })
}

function frameText({ functionName, location }: Debugger.CallFrame, files: Map<string, string>): string {
  const { scriptId, lineNumber, columnNumber = 0 } = location
  return `    at ${functionName || '<anonymous>'} (${files.get(scriptId) ?? ''}:${lineNumber + 1}:${columnNumber + 1})`
}

/** In the form of the log. */
function log({ slot, ...state }: Watched, stack: readonly string[]): void {
  const message = 'code of the model does not return: the process ends with code 70'
  const fields = {
    level: 60,
    time: Date.now(),
    place: slot.place,
    ms: Math.round(timeOf({ slot, ...state }, 0)),
  }
  const err = { type: 'Error', message: slot.place, stack: [`Error: ${slot.place}`, ...stack].join('\n') }
  const line = { ...fields, ...(stack.length > 0 && { err }), msg: message }
  try {
    writeSync(2, `${JSON.stringify(line)}\n`)
  } catch {
    // The process ends all the same.
  }
}

/** Ends the process, unless Node can be debugged, or the code has returned meanwhile. */
async function end(state: Watched): Promise<void> {
  const session = connect()
  const url = session && (await evaluate(session, "process.getBuiltinModule('node:inspector').url()"))
  if (typeof url?.value === 'string' || state.slot.entries !== state.entries) {
    session?.disconnect()
    return
  }
  const isMain = state.slot.owner === owners.mainThread
  log(state, session && isMain ? await stackOf(session) : [])
  if (session) {
    void evaluate(session, `process.exit(${exitCode})`)
    await wait(answerMs)
  }
  process.kill(process.pid, 'SIGKILL')
}

let lookedAt = performance.now()
for (;;) {
  const now = performance.now()
  const { stuck, isActive } = look(now - lookedAt)
  lookedAt = now
  if (stuck) {
    await end(stuck)
    // It goes on: code that still runs is not looked at again before its limit has passed once more.
    stuck.entries = 0
  }
  // By a timer: a thread that blocks in `Atomics.wait` now and then keeps Node from ending the process.
  await wait(isActive ? intervalMs : idleIntervalMs)
}
