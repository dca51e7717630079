/** The worker context: what the service in a worker shares with the other workers. */
import type { MessagePort } from 'node:worker_threads'
import type { Cluster } from '../../engine/cluster/cluster.ts'
import type { MemoryCounters } from '../../engine/cluster/memory-counters.ts'
import { sharedCounters } from '../../engine/cluster/shared-counters.ts'
import type { OtherThreads } from '../../engine/store/sqlite/file/other-threads.ts'
import type { FromWorker, Notification, ToWorker, WorkerStart } from './messages.ts'
import { commitsIndex, failuresIndex } from './shared-memory.ts'
import { markAlive, WriteLock } from './write-lock.ts'

export interface WorkerContext {
  /** The worker's number in the process, from 0. A restarted worker keeps it. */
  readonly index: number
  /** The workers of this process as a cluster. */
  readonly cluster: Cluster & { readonly counters: MemoryCounters }
  readonly otherThreads: OtherThreads
  /** Accepts whole lines of the log. */
  readonly log: { write(text: string): void }
  /** Returns the metrics of all workers as one text. */
  allMetrics(): Promise<string>
  /** Ends the process at once, without closing a file. Does not return. */
  abort(): never
  /** Registers the function that returns this worker's own metrics. */
  setMetricsSource(getMetrics: () => Promise<string>): void
}

/** Connects a worker to the main thread through `main`. `stop` is called when the worker should end. */
export function openContext(start: WorkerStart, main: MessagePort, stop: () => void): ThreadContext {
  return new ThreadContext(start, main, stop)
}

type Handlers = { [Kind in ToWorker['kind']]: (message: Extract<ToWorker, { kind: Kind }>) => void }

/** The context, with the methods that only `thread.ts` uses. */
class ThreadContext implements WorkerContext {
  readonly index: number
  readonly cluster: WorkerContext['cluster']
  readonly otherThreads: OtherThreads
  readonly log: LogBuffer
  readonly #main: MessagePort
  readonly #peers = new Map<number, MessagePort>()
  readonly #commitListeners = new Set<() => void>()
  readonly #metricsRequests = new Map<number, (text: string) => void>()
  readonly #lock: WriteLock
  #getMetrics: () => Promise<string> = async () => ''
  #requestCount = 0
  #isWakeScheduled = false

  constructor({ worker, memory }: WorkerStart, main: MessagePort, stop: () => void) {
    const words = new Int32Array(memory.file)
    markAlive(words, worker)
    this.index = worker
    this.#main = main
    this.log = new LogBuffer(text => this.#send({ kind: 'log', text }))
    this.#lock = new WriteLock(words, worker, { notify: peer => this.#notify(peer, 'lock') })
    this.otherThreads = {
      commits: () => Atomics.load(words, commitsIndex),
      committed: () => void Atomics.add(words, commitsIndex, 1),
      failures: () => Atomics.load(words, failuresIndex),
      addFailure: () => void Atomics.add(words, failuresIndex, 1),
      lock: this.#lock,
    }
    this.cluster = {
      counters: sharedCounters(memory.counters),
      wake: () => this.#wakeOthers(),
      onWake: listener => {
        this.#commitListeners.add(listener)
        return () => void this.#commitListeners.delete(listener)
      },
      trouble: () => undefined,
      close: async () => this.#commitListeners.clear(),
    }
    const handlers: Handlers = {
      stop,
      peer: message => this.#connect(message.worker, message.port),
      'report-metrics': ({ id }) => void this.#reportMetrics(id),
      'collected-metrics': ({ id, text }) => {
        this.#metricsRequests.get(id)?.(text)
        this.#metricsRequests.delete(id)
      },
    }
    main.on('message', (message: ToWorker) => handlers[message.kind](message as never))
  }

  allMetrics = (): Promise<string> =>
    new Promise(resolve => {
      const id = this.#requestCount++
      this.#metricsRequests.set(id, resolve)
      this.#send({ kind: 'collect-metrics', id })
    })

  setMetricsSource(getMetrics: () => Promise<string>): void {
    this.#getMetrics = getMetrics
  }

  abort(): never {
    this.#send({ kind: 'abort' })
    // Code that continued to run here could still close the database.
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }

  /** Reports that the service listens at `url`. */
  ready(url: string): void {
    this.#send({ kind: 'ready', url })
  }

  #send(message: FromWorker): void {
    this.#main.postMessage(message)
  }

  #notify(peer: number, notification: Notification): void {
    this.#peers.get(peer)?.postMessage(notification)
  }

  #connect(peer: number, port: MessagePort): void {
    this.#peers.get(peer)?.close()
    this.#peers.set(peer, port)
    port.on('message', (notification: Notification) => {
      if (notification === 'lock') this.#lock.onNotified()
      else for (const listener of this.#commitListeners) listener()
    })
  }

  /** Sends one notification for all commits of a turn of the event loop. */
  #wakeOthers(): void {
    if (this.#isWakeScheduled) return
    this.#isWakeScheduled = true
    setImmediate(() => {
      this.#isWakeScheduled = false
      for (const peer of this.#peers.keys()) this.#notify(peer, 'commit')
    })
  }

  async #reportMetrics(id: number): Promise<void> {
    this.#send({ kind: 'metrics', id, text: await this.#getMetrics() })
  }
}

const logBlockCharacters = 8192
/** How long a line is buffered. */
const logDelayMs = 100

/** Sends lines to the main thread in blocks. Only the main thread writes, so that lines are not interleaved. */
class LogBuffer {
  readonly #send: (text: string) => void
  #lines = ''
  #timer: NodeJS.Timeout | undefined

  constructor(send: (text: string) => void) {
    this.#send = send
  }

  write(text: string): void {
    this.#lines += text
    if (this.#lines.length >= logBlockCharacters) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), logDelayMs).unref()
  }

  /** Sends the buffered lines. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#lines !== '') this.#send(this.#lines)
    this.#lines = ''
  }
}
