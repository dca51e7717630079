/** The worker pool: starts the worker threads, restarts those that crash, and stops them. */
import { MessageChannel, Worker } from 'node:worker_threads'
import { extractCounters, mergeMetrics } from './merge-metrics.ts'
import {
  type FromWorker,
  type SerializedError,
  serializeError,
  type ToWorker,
  type WorkerStart,
} from './messages.ts'
import type { SharedMemory } from './shared-memory.ts'
import { markDead } from './write-lock.ts'

export interface PoolOptions {
  readonly memory: SharedMemory
  /** The module of the thread. */
  readonly thread: URL
  /** The `workerData` of the worker with this number. */
  readonly startData: (worker: number) => WorkerStart
  /** Receives whole lines of a worker's log. */
  readonly log: (text: string) => void
  readonly onCrash: (crash: WorkerCrash) => void
  /** How long a stop waits before it terminates the workers. */
  readonly stopTimeoutMs: number
  /** The delay before the first restart of a worker. It doubles with each crash, up to 64 times the delay. */
  readonly restartDelayMs?: number
}

export interface WorkerCrash {
  readonly worker: number
  readonly error: SerializedError | undefined
  readonly restartInMs: number
}

export interface Pool {
  /** Starts a worker. Resolves with the URL at which it listens; rejects if it cannot serve. */
  start(worker: number): Promise<string>
  /** The metrics of all workers. */
  metrics(): Promise<string>
  /** How many workers serve, and how many restarts there were. */
  readonly counts: { readonly serving: number; readonly restarts: number }
  send(worker: number, message: ToWorker): void
  stop(): Promise<void>
}

/** A worker that has run for this long did not crash because of its start: the delay is reset. */
const stableAfterMs = 60_000
/** The longest time that a scrape waits for the metrics of one worker. */
const metricsTimeoutMs = 5000

interface RunningWorker {
  readonly thread: Worker
  readonly startedAt: number
  isServing: boolean
  /** Callbacks, by the id of the request. */
  readonly metricsRequests: Map<number, () => void>
  lastMetrics: string
  readonly ended: Promise<void>
}

/** An error from another thread, to throw in this one. */
export class WorkerError extends Error {
  readonly code: string | undefined

  constructor({ name, message, code, stack }: SerializedError) {
    super(message)
    this.name = name
    this.code = code
    if (stack !== undefined) this.stack = stack
  }
}

export function createPool(options: PoolOptions): Pool {
  return new ThreadPool(options)
}

class ThreadPool implements Pool {
  readonly #options: PoolOptions
  readonly #members = new Map<number, RunningWorker>()
  readonly #crashes = new Map<number, number>()
  readonly #timers = new Set<NodeJS.Timeout>()
  /** The counters of workers that have ended: Prometheus would mistake a decrease of the sum for a restart of the service. */
  #endedMetrics = ''
  #restarts = 0
  #requestCount = 0
  #isStopping = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  get counts() {
    const serving = [...this.#members.values()].filter(({ isServing }) => isServing).length
    return { serving, restarts: this.#restarts }
  }

  start(worker: number): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const exit = Promise.withResolvers<void>()
    const thread = new Worker(this.#options.thread, { workerData: this.#options.startData(worker) })
    const member: RunningWorker = {
      thread,
      startedAt: performance.now(),
      isServing: false,
      metricsRequests: new Map(),
      lastMetrics: '',
      ended: exit.promise,
    }
    let error: SerializedError | undefined
    this.#members.set(worker, member)
    thread.on('message', (message: FromWorker) => {
      if (message.kind === 'failed') error = message.error
      else if (message.kind === 'ready') {
        member.isServing = true
        resolve(message.url)
      } else this.#onMessage(member, message)
    })
    thread.on('error', thrown => {
      error = serializeError(thrown)
    })
    thread.on('exit', () => {
      const wasServing = member.isServing
      this.#onEnded(worker, member)
      exit.resolve()
      if (!wasServing) reject(new WorkerError(error ?? unexplainedError))
      else this.#restart(worker, member, error)
    })
    this.#connectToOthers(worker, thread)
    return promise
  }

  async metrics(): Promise<string> {
    await Promise.all([...this.#members.values()].map(member => this.#requestMetrics(member)))
    // A worker that has ended meanwhile is no longer a member, so it is counted once.
    const texts = [...this.#members.values()].map(({ lastMetrics }) => lastMetrics)
    return mergeMetrics([...texts, this.#endedMetrics, this.#ownMetrics()])
  }

  send(worker: number, message: ToWorker): void {
    this.#members.get(worker)?.thread.postMessage(message)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    for (const timer of this.#timers) clearTimeout(timer)
    const members = [...this.#members.values()]
    const timer = setTimeout(() => {
      for (const { thread } of members) void thread.terminate()
    }, this.#options.stopTimeoutMs)
    for (const worker of this.#members.keys()) this.send(worker, { kind: 'stop' })
    await Promise.all(members.map(({ ended }) => ended))
    clearTimeout(timer)
  }

  #ownMetrics(): string {
    const { serving, restarts } = this.counts
    return [
      '# HELP portico_workers Workers that serve.',
      '# TYPE portico_workers gauge',
      `portico_workers ${serving}`,
      '# HELP portico_worker_restarts_total Workers that had crashed and were restarted.',
      '# TYPE portico_worker_restarts_total counter',
      `portico_worker_restarts_total ${restarts}`,
    ].join('\n')
  }

  /** Connects the new worker and every other one by a message channel. */
  #connectToOthers(worker: number, thread: Worker): void {
    const send = (to: Worker, peer: number, port: MessageChannel['port1']) =>
      to.postMessage({ kind: 'peer', worker: peer, port } satisfies ToWorker, [port])
    for (const [other, member] of this.#members) {
      if (other === worker) continue
      const { port1, port2 } = new MessageChannel()
      send(thread, other, port1)
      send(member.thread, worker, port2)
    }
  }

  #onMessage(member: RunningWorker, message: Exclude<FromWorker, { kind: 'ready' | 'failed' }>): void {
    if (message.kind === 'log') this.#options.log(message.text)
    else if (message.kind === 'abort') process.abort()
    else if (message.kind === 'metrics') {
      member.lastMetrics = message.text
      member.metricsRequests.get(message.id)?.()
    } else {
      const { id } = message
      void this.metrics().then(text => member.thread.postMessage({ kind: 'collected-metrics', id, text }))
    }
  }

  /** Also resolves if the worker does not answer in time: a stuck worker must not block a scrape. */
  #requestMetrics({ thread, metricsRequests, ended }: RunningWorker): Promise<void> {
    const id = this.#requestCount++
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, metricsTimeoutMs)
    metricsRequests.set(id, resolve)
    thread.postMessage({ kind: 'report-metrics', id } satisfies ToWorker)
    void ended.then(resolve)
    return promise.finally(() => {
      clearTimeout(timer)
      metricsRequests.delete(id)
    })
  }

  #onEnded(worker: number, member: RunningWorker): void {
    member.isServing = false
    if (this.#members.get(worker) === member) this.#members.delete(worker)
    this.#endedMetrics = mergeMetrics([this.#endedMetrics, extractCounters(member.lastMetrics)])
    member.lastMetrics = ''
    markDead(new Int32Array(this.#options.memory.file), worker)
  }

  #restart(
    worker: number,
    { startedAt }: Pick<RunningWorker, 'startedAt'>,
    error: SerializedError | undefined,
  ): void {
    if (this.#isStopping) return
    const previousCrashes =
      performance.now() - startedAt > stableAfterMs ? 0 : (this.#crashes.get(worker) ?? 0)
    this.#crashes.set(worker, previousCrashes + 1)
    const restartInMs = (this.#options.restartDelayMs ?? 100) * 2 ** Math.min(previousCrashes, 6)
    this.#options.onCrash({ worker, error, restartInMs })
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#restarts++
      const startedAt = performance.now()
      this.start(worker).catch((startError: WorkerError) =>
        this.#restart(worker, { startedAt }, serializeError(startError)),
      )
    }, restartInMs)
    this.#timers.add(timer)
  }
}

const unexplainedError: SerializedError = serializeError(new Error('A worker ended at its start.'))
