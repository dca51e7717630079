/**
 * Slow reads run in processes beside the event loop: `node:sqlite` cannot end a statement, and a process can be killed.
 * They are started when they are needed and ended when they are not. See `decisions/slow-reads.md`.
 */
import { ApiError, stoppingRefusal, temporaryRefusal } from '../../../errors.ts'
import type { SlowReadCounts } from '../../store.ts'
import { failureOf } from '../failure.ts'
import { FairQueue } from './fair-queue.ts'
import type { ReaderOrders, ReaderQuery, ReaderRows } from './messages.ts'
import { ReaderLost, ReaderProcess } from './process.ts'

export interface ReaderPoolOptions {
  readonly orders: ReaderOrders
  /** How many processes there are at most. */
  readonly size: number
  /** How long a read may take from when it was asked for, waiting included, in milliseconds. */
  readonly timeoutMs: number
  /** After how long without work a process is ended, in milliseconds. 30,000 by default. */
  readonly idleMs?: number
  /** How many reads may wait, in all and of one caller; 1,000 and 200 by default. */
  readonly maxWaiting?: number
  readonly maxOfCaller?: number
  /** Told why a process ended that nobody had ended. */
  readonly onLost?: ((cause: unknown) => void) | undefined
}

interface Job {
  readonly caller: string
  readonly queries: readonly ReaderQuery[]
  readonly resolve: (rows: ReaderRows) => void
  readonly reject: (error: ApiError) => void
  timer: NodeJS.Timeout | undefined
  process: ReaderProcess | undefined
  tries: number
}

/** A read whose process ended under it is tried once more: it may not be the read's fault. */
const maxTries = 2
/** How long to wait before another process is started after one that has ended before its first answer. */
const restartPauseMs = 500
const timeoutCause = 'a read took longer than PORTICO_DB_TIMEOUT allows'

export class ReaderPool {
  readonly #options: Required<Omit<ReaderPoolOptions, 'onLost'>> & Pick<ReaderPoolOptions, 'onLost'>
  readonly #queue: FairQueue<Job>
  readonly #processes = new Set<ReaderProcess>()
  /** The one used last comes last, and is used first: the others become idle. */
  readonly #idle: ReaderProcess[] = []
  readonly #idleTimers = new Map<ReaderProcess, NodeJS.Timeout>()
  readonly #counts = { running: 0, done: 0, timedOut: 0, refused: 0, killed: 0 }
  #pause: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: ReaderPoolOptions) {
    this.#options = { idleMs: 30_000, maxWaiting: 1000, maxOfCaller: 200, ...options }
    const { size, maxWaiting, maxOfCaller } = this.#options
    // One caller's reads cannot hold all processes, unless there is but one.
    this.#queue = new FairQueue({ maxOfCaller, maxWaiting, maxRunningOfCaller: Math.max(1, size - 1) })
  }

  get counts(): SlowReadCounts {
    return { ...this.#counts, processes: this.#processes.size, waiting: this.#queue.waiting }
  }

  /** The ids of the processes that are there. */
  get pids(): readonly number[] {
    return [...this.#processes].flatMap(({ pid }) => (pid === undefined ? [] : [pid]))
  }

  /**
   * Runs queries in one snapshot, begun after this call. Rejects with an `ApiError`. `caller`: see `Principal.budgetKey`.
   * Aborting `signal` gives up the place in the queue; a read that runs goes on.
   */
  run(caller: string, queries: readonly ReaderQuery[], signal?: AbortSignal): Promise<ReaderRows> {
    if (this.#isClosed) return Promise.reject(stoppingRefusal())
    if (signal?.aborted === true) return Promise.reject(abandoned())
    const { promise, resolve, reject } = Promise.withResolvers<ReaderRows>()
    const job: Job = { caller, queries, resolve, reject, timer: undefined, process: undefined, tries: 0 }
    if (!this.#queue.add(caller, job)) {
      this.#counts.refused++
      return Promise.reject(temporaryRefusal('Too many slow reads are waiting.'))
    }
    job.timer = setTimeout(() => this.#timeOut(job), this.#options.timeoutMs)
    signal?.addEventListener('abort', () => this.#abandon(job), { once: true })
    this.#serve()
    return promise
  }

  /** Refuses what waits and what runs, and resolves when every process has ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#pause)
    for (const timer of this.#idleTimers.values()) clearTimeout(timer)
    for (const job of this.#queue.takeAll()) this.#refuse(job, stoppingRefusal())
    await Promise.all([...this.#processes].map(process => process.kill()))
  }

  #serve(): void {
    if (this.#isClosed) return
    while (this.#idle.length > 0 || this.#mayStart()) {
      const job = this.#queue.next()
      if (job === undefined) return
      void this.#run(job, this.#take())
    }
  }

  #mayStart(): boolean {
    return this.#processes.size < this.#options.size && this.#pause === undefined
  }

  #take(): ReaderProcess {
    const idle = this.#idle.pop()
    if (idle !== undefined) {
      clearTimeout(this.#idleTimers.get(idle))
      return idle
    }
    const made = new ReaderProcess(this.#options.orders, ended => this.#ended(ended))
    this.#processes.add(made)
    return made
  }

  async #run(job: Job, process: ReaderProcess): Promise<void> {
    job.process = process
    job.tries++
    this.#counts.running++
    try {
      const rows = await process.run(job.queries)
      this.#counts.done++
      clearTimeout(job.timer)
      job.resolve(rows)
    } catch (cause) {
      this.#failed(job, cause)
    }
    this.#counts.running--
    job.process = undefined
    this.#queue.done(job.caller)
    if (process.isUsable) this.#rest(process)
    this.#serve()
  }

  #failed(job: Job, cause: unknown): void {
    // Its time is over: it was answered, and the process was killed for that.
    if (job.timer === undefined) return
    const isAgain = cause instanceof ReaderLost && job.tries < maxTries && !this.#isClosed
    if (isAgain && this.#queue.add(job.caller, job)) return
    if (this.#isClosed) this.#refuse(job, stoppingRefusal())
    else if (cause instanceof ReaderLost) this.#refuse(job, new ApiError('UNAVAILABLE', undefined, { cause }))
    else this.#refuse(job, failureOf(cause))
  }

  #refuse(job: Job, error: ApiError): void {
    clearTimeout(job.timer)
    job.timer = undefined
    job.reject(error)
  }

  #abandon(job: Job): void {
    if (this.#queue.remove(job.caller, job)) this.#refuse(job, abandoned())
  }

  #timeOut(job: Job): void {
    this.#counts.timedOut++
    this.#queue.remove(job.caller, job)
    if (job.process !== undefined) {
      this.#counts.killed++
      void job.process.kill()
    }
    this.#refuse(job, new ApiError('UNAVAILABLE', undefined, { cause: new Error(timeoutCause) }))
  }

  /** Keeps it for the next read, and ends it when none comes. */
  #rest(process: ReaderProcess): void {
    this.#idle.push(process)
    const timer = setTimeout(() => {
      this.#leave(process)
      void process.kill()
    }, this.#options.idleMs)
    timer.unref()
    this.#idleTimers.set(process, timer)
  }

  #leave(process: ReaderProcess): void {
    clearTimeout(this.#idleTimers.get(process))
    this.#idleTimers.delete(process)
    const at = this.#idle.indexOf(process)
    if (at !== -1) this.#idle.splice(at, 1)
  }

  #ended(process: ReaderProcess): void {
    this.#leave(process)
    this.#processes.delete(process)
    if (this.#isClosed) return
    if (!process.wasKilled) this.#options.onLost?.(process.cause)
    if (!process.wasKilled && !process.hasAnswered) this.#waitToStart()
    this.#serve()
  }

  /** What ends at its start would do so again at once. */
  #waitToStart(): void {
    clearTimeout(this.#pause)
    this.#pause = setTimeout(() => {
      this.#pause = undefined
      this.#serve()
    }, restartPauseMs)
    this.#pause.unref()
  }
}

function abandoned(): ApiError {
  return temporaryRefusal('Nobody waits for this read.')
}
