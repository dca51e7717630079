/** A reader process, from the service's side. */
import { type ChildProcess, fork } from 'node:child_process'
import { setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { isBuilt } from '../../../../base/package-files.ts'
import { movedFileError } from '../write/writer.ts'
import type {
  ReaderFailure,
  ReaderJob,
  ReaderPiece,
  ReaderProcessOptions,
  ReaderQuery,
  ReaderReply,
  ReaderRows,
} from './messages.ts'
import { joinPieces } from './pieces.ts'

/** The process ended before it answered. */
export class ReaderLost extends Error {
  override readonly name = 'ReaderLost'
}

/** The answer has more bytes than the job allows. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge'
}

/** A failure in a reader process, in the form that `failureOf` accepts. */
class ReaderError extends Error {
  readonly errcode: number | undefined

  constructor(message: string, errcode: number | undefined) {
    super(message)
    this.errcode = errcode
  }
}

function causeOf({ message, errcode, isMoved, isTooLarge }: ReaderFailure): Error {
  if (isTooLarge) return new AnswerTooLarge(message)
  return isMoved ? movedFileError() : new ReaderError(message, errcode)
}

const program = fileURLToPath(new URL(isBuilt ? './reader.js' : './program.ts', import.meta.url))

/** A `nice` value: if every core is busy, the service gets about ten times as much processor time as a reader. */
const priority = 10

/** The environment variables that a reader needs, which contain no secrets. */
function environment(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE, TMPDIR, SQLITE_TMPDIR, SystemRoot } = process.env
  return { NODE_COMPILE_CACHE, TMPDIR, SQLITE_TMPDIR, SystemRoot }
}

/**
 * Undefined if the system cannot start a process, e.g. for lack of descriptors or memory: `onFailure` is called later. Node
 * throws some of these failures; for others it returns a child without pipes, which emits them.
 */
function startProcess(
  options: ReaderProcessOptions,
  onFailure: (cause: unknown) => void,
): ChildProcess | undefined {
  let child: ChildProcess
  try {
    child = fork(program, [JSON.stringify(options)], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      serialization: 'advanced',
      env: environment(),
      // The last one is the lifeline: see `lifelineDescriptor`.
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
  // For a signal or a message that could not be sent. Only the exit matters.
  child.on('error', () => {})
  try {
    setPriority(pid, priority)
  } catch {
    // The process has already ended, or the system does not allow it. Reads work all the same.
  }
  return child
}

interface RunningJob {
  readonly id: number
  readonly resolve: (rows: ReaderRows) => void
  readonly reject: (cause: unknown) => void
  readonly pieces: string[]
}

export class ReaderProcess {
  readonly #child: ChildProcess | undefined
  readonly #end = Promise.withResolvers<void>()
  #running: RunningJob | undefined
  #lastId = 0
  #hasEnded = false
  /** Whether it has answered at least once. */
  hasAnswered = false
  /** Whether the service has ended it. */
  wasKilled = false
  /** The reason why it has ended: an error, a signal or an exit code. */
  cause: unknown

  /** Starts the process. Calls `onEnd` once it has ended, whatever the reason. */
  constructor(options: ReaderProcessOptions, onEnd: (process: ReaderProcess) => void) {
    const onExit = (cause?: unknown): void => {
      if (this.#hasEnded) return
      this.#hasEnded = true
      this.cause = cause
      this.#takeRunning()?.reject(new ReaderLost('A reader process has ended.', { cause }))
      this.#end.resolve()
      onEnd(this)
    }
    this.#child = startProcess(options, onExit)
    this.#setReferenced(false)
    this.#child?.on('message', (message: ReaderReply | ReaderPiece) => this.#handle(message))
    this.#child?.on('exit', (code, signal) => onExit(signal ?? code))
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Whether it accepts jobs. */
  get isUsable(): boolean {
    return !this.#hasEnded && !this.wasKilled
  }

  /**
   * Runs the queries in one snapshot, one job at a time. Rejects with `ReaderLost`, `AnswerTooLarge`, or the failure.
   */
  run(queries: readonly ReaderQuery[], maxAnswerBytes?: number): Promise<ReaderRows> {
    const { promise, resolve, reject } = Promise.withResolvers<ReaderRows>()
    const job: ReaderJob = { id: ++this.#lastId, queries, maxAnswerBytes }
    this.#running = { id: job.id, resolve, reject, pieces: [] }
    this.#setReferenced(true)
    // If the job cannot be sent, the process has ended or is about to end.
    this.#child?.send(job, cause => {
      if (cause) this.#child?.kill('SIGKILL')
    })
    return promise
  }

  /** Kills the process. Resolves when it has ended. */
  kill(): Promise<void> {
    this.wasKilled = true
    if (!this.#hasEnded) {
      // A program with nothing else to do must not exit before the returned promise settles.
      this.#child?.ref()
      this.#child?.kill('SIGKILL')
    }
    return this.#end.promise
  }

  #handle(message: ReaderReply | ReaderPiece): void {
    const running = this.#running
    if (message.id !== running?.id) return
    if ('piece' in message) {
      running.pieces.push(message.piece)
      return
    }
    this.hasAnswered = true
    this.#takeRunning()
    if ('failure' in message) {
      running.reject(causeOf(message.failure))
      return
    }
    const rows = joinPieces(message.rows, running.pieces)
    const resolve = (): void => running.resolve(rows)
    // What becomes of a large answer has a turn of its own.
    if (running.pieces.length > 0) setImmediate(resolve)
    else resolve()
  }

  #takeRunning(): RunningJob | undefined {
    const running = this.#running
    this.#running = undefined
    if (!this.#hasEnded) this.#setReferenced(false)
    return running
  }

  /** An idle process does not keep the program running: it ends with the program. */
  #setReferenced(isBusy: boolean): void {
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
