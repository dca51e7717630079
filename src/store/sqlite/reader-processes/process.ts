/** One reader process, as the service sees it. */
import { type ChildProcess, fork } from 'node:child_process'
import { setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { moved } from '../write/writer.ts'
import type { ReaderJob, ReaderOrders, ReaderQuery, ReaderReply, ReaderRows } from './messages.ts'

/** The process ended before it answered. */
export class ReaderLost extends Error {
  override readonly name = 'ReaderLost'
}

/** A failure of SQLite's in a reader process, as `failureOf` reads it. */
class ReaderError extends Error {
  readonly errcode: number | undefined

  constructor(message: string, errcode: number | undefined) {
    super(message)
    this.errcode = errcode
  }
}

const program = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './program.ts' : './program.js', import.meta.url),
)

/** As `nice` has it: where every core is busy, the service gets about ten times what a reader gets. */
const priority = 10

/** What of the environment a reader needs: none of the secrets in it. */
function environment(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE, TMPDIR, SQLITE_TMPDIR, SystemRoot } = process.env
  return { NODE_COMPILE_CACHE, TMPDIR, SQLITE_TMPDIR, SystemRoot }
}

/**
 * Undefined where the system starts no process, for want of descriptors or memory: `onFailure` is told why, later. Node
 * throws some of these failures and emits others, from a child without pipes.
 */
function start(orders: ReaderOrders, onFailure: (cause: unknown) => void): ChildProcess | undefined {
  let child: ChildProcess
  try {
    child = fork(program, [JSON.stringify(orders)], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      serialization: 'advanced',
      env: environment(),
      // The last one is the pipe whose end tells the process that this one has ended.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc', 'pipe'],
    })
  } catch (cause) {
    queueMicrotask(() => onFailure(cause))
    return undefined
  }
  const { pid } = child
  if (pid === undefined) {
    child.on('error', onFailure)
    return undefined
  }
  // A signal or a message that could not be sent: what matters is the exit.
  child.on('error', () => {})
  try {
    setPriority(pid, priority)
  } catch {
    // The process has ended already, or the system forbids it. Reads work all the same.
  }
  return child
}

interface Running {
  readonly id: number
  readonly resolve: (rows: ReaderRows) => void
  readonly reject: (cause: unknown) => void
}

export class ReaderProcess {
  readonly #child: ChildProcess | undefined
  readonly #ended = Promise.withResolvers<void>()
  #running: Running | undefined
  #lastId = 0
  #isOver = false
  /** Whether it has ever answered. */
  hasAnswered = false
  /** Whether this side has ended it. */
  wasKilled = false
  /** Why it has ended: an error, a signal or a code. */
  cause: unknown

  /** Starts the process. `onEnd` is called once it has ended, for whatever reason. */
  constructor(orders: ReaderOrders, onEnd: (process: ReaderProcess) => void) {
    const over = (cause?: unknown): void => {
      if (this.#isOver) return
      this.#isOver = true
      this.cause = cause
      this.#settle()?.reject(new ReaderLost('A reader process has ended.', { cause }))
      this.#ended.resolve()
      onEnd(this)
    }
    this.#child = start(orders, over)
    this.#hold(false)
    this.#child?.on('message', (reply: ReaderReply) => this.#take(reply))
    this.#child?.on('exit', (code, signal) => over(signal ?? code))
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Whether a job can be given to it. */
  get isUsable(): boolean {
    return !this.#isOver && !this.wasKilled
  }

  /** Runs the queries in one snapshot. Rejects with `ReaderLost`, or with what failed. One at a time. */
  run(queries: readonly ReaderQuery[]): Promise<ReaderRows> {
    const { promise, resolve, reject } = Promise.withResolvers<ReaderRows>()
    const job: ReaderJob = { id: ++this.#lastId, queries }
    this.#running = { id: job.id, resolve, reject }
    this.#hold(true)
    // Where it cannot be sent, the process has ended, or is about to.
    this.#child?.send(job, cause => {
      if (cause) this.#child?.kill('SIGKILL')
    })
    return promise
  }

  /** Ends the process now, whatever it does. Resolves when it has ended. */
  kill(): Promise<void> {
    this.wasKilled = true
    if (!this.#isOver) {
      // Whoever waits for the end is not left waiting by a program that has nothing else to do.
      this.#child?.ref()
      this.#child?.kill('SIGKILL')
    }
    return this.#ended.promise
  }

  #take(reply: ReaderReply): void {
    if (reply.id !== this.#running?.id) return
    this.hasAnswered = true
    const running = this.#settle()
    if ('rows' in reply) running?.resolve(reply.rows)
    else {
      const { message, errcode, isMoved } = reply.failure
      running?.reject(isMoved ? moved() : new ReaderError(message, errcode))
    }
  }

  #settle(): Running | undefined {
    const running = this.#running
    this.#running = undefined
    if (!this.#isOver) this.#hold(false)
    return running
  }

  /** An idle process does not keep a program from ending: it ends with the program. */
  #hold(isBusy: boolean): void {
    const child = this.#child
    const pipe = child?.stdio[4] as { unref?(): void } | null | undefined
    pipe?.unref?.()
    if (isBusy) {
      child?.ref()
      child?.channel?.ref()
    } else {
      child?.unref()
      child?.channel?.unref()
    }
  }
}
