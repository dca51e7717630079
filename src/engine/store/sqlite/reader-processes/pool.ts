/**
 * Slow reads run in separate processes: `node:sqlite` cannot interrupt a statement, but a process can be killed. Processes are
 * started on demand and ended when idle. See `decisions/slow-reads.md`.
 */
import { ApiError, databaseFault, stoppingRefusal, temporaryRefusal } from '../../../../base/errors.ts'
import type { AnswerBound } from '../../../plan/answer-bound.ts'
import type { SlowReadCounts } from '../../store.ts'
import { failureOf } from '../failure.ts'
import { FairQueue } from './fair-queue.ts'
import type { ReaderProcessOptions, ReaderQuery, ReaderRows } from './messages.ts'
import { AnswerTooLarge, ReaderLost, ReaderProcess } from './process.ts'

export interface ReaderPoolOptions {
  readonly processOptions: ReaderProcessOptions
  /** The maximum number of processes. */
  readonly size: number
  /** How long a read may take, including its time in the queue, in milliseconds. */
  readonly timeoutMs: number
  /** How long a process stays idle before it is ended, in milliseconds. 30,000 by default. */
  readonly idleMs?: number
  /** How many reads may wait, in total and of one caller; 1,000 and 200 by default. */
  readonly maxWaiting?: number
  readonly maxWaitingPerCaller?: number
  /** Called with the cause when a process ends unexpectedly. */
  readonly onLost?: ((cause: unknown) => void) | undefined
}

interface ReadJob {
  readonly caller: string
  readonly queries: readonly ReaderQuery[]
  readonly answerBound: AnswerBound | undefined
  readonly resolve: (rows: ReaderRows) => void
  readonly reject: (error: ApiError) => void
  timer: NodeJS.Timeout | undefined
  process: ReaderProcess | undefined
  tries: number
}

/** A read whose process has ended is tried once more: the read may not be the cause. */
const maxTries = 2
/** The pause before the next process is started, after one that ended before its first answer, in milliseconds. */
const restartPauseMs = 500
const timeoutCause = 'a read took longer than PORTICO_DB_TIMEOUT allows'

export class ReaderPool {
  readonly #options: Required<Omit<ReaderPoolOptions, 'onLost'>> & Pick<ReaderPoolOptions, 'onLost'>
  readonly #queue: FairQueue<ReadJob>
  readonly #processes = new Set<ReaderProcess>()
  /** The last process is used first, so that the others can be ended. */
  readonly #idle: ReaderProcess[] = []
  readonly #idleTimers = new Map<ReaderProcess, NodeJS.Timeout>()
  readonly #counts = { running: 0, done: 0, timedOut: 0, refused: 0, killed: 0 }
  #restartTimer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: ReaderPoolOptions) {
    this.#options = { idleMs: 30_000, maxWaiting: 1000, maxWaitingPerCaller: 200, ...options }
    const { size, maxWaiting, maxWaitingPerCaller } = this.#options
    // The reads of one caller cannot occupy all processes, unless there is only one.
    this.#queue = new FairQueue({
      maxWaitingPerCaller,
      maxWaiting,
      maxRunningPerCaller: Math.max(1, size - 1),
    })
  }

  get counts(): SlowReadCounts {
    return { ...this.#counts, processes: this.#processes.size, waiting: this.#queue.waiting }
  }

  /** The ids of the running processes. */
  get pids(): readonly number[] {
    return [...this.#processes].flatMap(({ pid }) => (pid === undefined ? [] : [pid]))
  }

  /**
   * Runs queries in one snapshot, which begins after this call. Rejects with an `ApiError`. `caller`: see
   * `Principal.budgetKey`. Aborting `signal` removes the read from the queue; a running read continues.
   */
  run(
    caller: string,
    queries: readonly ReaderQuery[],
    signal?: AbortSignal,
    answerBound?: AnswerBound,
  ): Promise<ReaderRows> {
    if (this.#isClosed) return Promise.reject(stoppingRefusal())
    if (signal?.aborted === true) return Promise.reject(abandonedRefusal())
    const { promise, resolve, reject } = Promise.withResolvers<ReaderRows>()
    const job: ReadJob = {
      ...{ caller, queries, answerBound, resolve, reject },
      ...{ timer: undefined, process: undefined, tries: 0 },
    }
    if (!this.#queue.add(caller, job)) {
      this.#counts.refused++
      return Promise.reject(temporaryRefusal('Too many slow reads are waiting.'))
    }
    job.timer = setTimeout(() => this.#timeOut(job), this.#options.timeoutMs)
    signal?.addEventListener('abort', () => this.#abandon(job), { once: true })
    this.#startJobs()
    return promise
  }

  /** Refuses all waiting and running reads. Resolves when every process has ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#restartTimer)
    for (const timer of this.#idleTimers.values()) clearTimeout(timer)
    for (const job of this.#queue.takeAll()) this.#refuse(job, stoppingRefusal())
    await Promise.all([...this.#processes].map(process => process.kill()))
  }

  #startJobs(): void {
    if (this.#isClosed) return
    while (this.#idle.length > 0 || this.#mayStart()) {
      const job = this.#queue.next()
      if (job === undefined) return
      void this.#run(job, this.#takeProcess())
    }
  }

  #mayStart(): boolean {
    return this.#processes.size < this.#options.size && this.#restartTimer === undefined
  }

  #takeProcess(): ReaderProcess {
    const idle = this.#idle.pop()
    if (idle !== undefined) {
      clearTimeout(this.#idleTimers.get(idle))
      return idle
    }
    const process = new ReaderProcess(this.#options.processOptions, endedProcess =>
      this.#onProcessEnd(endedProcess),
    )
    this.#processes.add(process)
    return process
  }

  async #run(job: ReadJob, process: ReaderProcess): Promise<void> {
    job.process = process
    job.tries++
    this.#counts.running++
    try {
      const rows = await process.run(job.queries, job.answerBound?.leftBytes)
      this.#counts.done++
      clearTimeout(job.timer)
      job.resolve(rows)
    } catch (cause) {
      this.#onJobFailure(job, cause)
    }
    this.#counts.running--
    job.process = undefined
    this.#queue.finish(job.caller)
    if (process.isUsable) this.#keepIdle(process)
    this.#startJobs()
  }

  #onJobFailure(job: ReadJob, cause: unknown): void {
    // The job has timed out: it was refused, and its process was killed.
    if (job.timer === undefined) return
    const mayRetry = cause instanceof ReaderLost && job.tries < maxTries && !this.#isClosed
    if (mayRetry && this.#queue.add(job.caller, job)) return
    if (this.#isClosed) this.#refuse(job, stoppingRefusal())
    else if (cause instanceof AnswerTooLarge && job.answerBound) this.#refuse(job, job.answerBound.refusal())
    else if (cause instanceof ReaderLost) this.#refuse(job, databaseFault(cause))
    else this.#refuse(job, failureOf(cause))
  }

  #refuse(job: ReadJob, error: ApiError): void {
    clearTimeout(job.timer)
    job.timer = undefined
    job.reject(error)
  }

  #abandon(job: ReadJob): void {
    if (this.#queue.remove(job.caller, job)) this.#refuse(job, abandonedRefusal())
  }

  #timeOut(job: ReadJob): void {
    this.#counts.timedOut++
    this.#queue.remove(job.caller, job)
    if (job.process !== undefined) {
      this.#counts.killed++
      void job.process.kill()
    }
    this.#refuse(job, new ApiError('UNAVAILABLE', undefined, { cause: new Error(timeoutCause) }))
  }

  /** Keeps the process for further reads, and ends it if it stays idle. */
  #keepIdle(process: ReaderProcess): void {
    this.#idle.push(process)
    const timer = setTimeout(() => {
      this.#removeIdle(process)
      void process.kill()
    }, this.#options.idleMs)
    timer.unref()
    this.#idleTimers.set(process, timer)
  }

  #removeIdle(process: ReaderProcess): void {
    clearTimeout(this.#idleTimers.get(process))
    this.#idleTimers.delete(process)
    const index = this.#idle.indexOf(process)
    if (index !== -1) this.#idle.splice(index, 1)
  }

  #onProcessEnd(process: ReaderProcess): void {
    this.#removeIdle(process)
    this.#processes.delete(process)
    if (this.#isClosed) return
    if (!process.wasKilled) this.#options.onLost?.(process.cause)
    if (!process.wasKilled && !process.hasAnswered) this.#waitToStart()
    this.#startJobs()
  }

  /** If a process ends right after its start, the next one probably would, too. */
  #waitToStart(): void {
    clearTimeout(this.#restartTimer)
    this.#restartTimer = setTimeout(() => {
      this.#restartTimer = undefined
      this.#startJobs()
    }, restartPauseMs)
    this.#restartTimer.unref()
  }
}

function abandonedRefusal(): ApiError {
  return temporaryRefusal('The result of this read is no longer needed.')
}
