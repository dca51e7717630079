/** The threads that serve: starts them, starts one anew that has died, and stops them. */
import { MessageChannel, Worker } from 'node:worker_threads'
import { counted, merged } from './figures.ts'
import type { SharedMemory } from './memory.ts'
import { type FromWorker, type Orders, type ToldError, type ToWorker, toldError } from './messages.ts'
import { bury } from './write-lock.ts'

export interface PoolOptions {
  readonly memory: SharedMemory
  /** The file of the thread. */
  readonly thread: URL
  /** What the worker with this number is started with. */
  readonly orders: (worker: number) => Orders
  /** Whole lines of a worker's log. */
  readonly log: (text: string) => void
  readonly onDeath: (death: Death) => void
  /** How long a stop waits before it ends a worker by force, in milliseconds. */
  readonly patience: number
  /** The wait before a dead worker is started anew, in milliseconds: doubled for each death, up to 64 times. */
  readonly pause?: number
}

export interface Death {
  readonly worker: number
  readonly error: ToldError | undefined
  /** When it is started anew, in milliseconds. */
  readonly pause: number
}

export interface Pool {
  /** Starts a worker; resolves with the address at which it listens. Rejects when it cannot serve. */
  start(worker: number): Promise<string>
  /** The figures of all workers. */
  figures(): Promise<string>
  /** How many serve, and how often one was started anew. */
  readonly counts: { readonly serving: number; readonly restarts: number }
  /** Tells a worker something. */
  send(worker: number, message: ToWorker): void
  stop(): Promise<void>
}

/** A worker that has lived so long has not died of its start, in milliseconds. */
const SETTLED = 60_000
/** How long a worker may take to tell its figures, in milliseconds. */
const TELLING = 5000

interface Member {
  readonly thread: Worker
  readonly since: number
  isServing: boolean
  readonly tells: Map<number, () => void>
  /** The figures that it has told last. */
  told: string
  readonly ended: Promise<void>
}

/** An error from another thread, to be thrown in this one. */
export class WorkerError extends Error {
  readonly code: string | undefined

  constructor({ name, message, code, stack }: ToldError) {
    super(message)
    this.name = name
    this.code = code
    if (stack !== undefined) this.stack = stack
  }
}

export function createPool(options: PoolOptions): Pool {
  return new Threads(options)
}

class Threads implements Pool {
  readonly #options: PoolOptions
  readonly #members = new Map<number, Member>()
  readonly #deaths = new Map<number, number>()
  readonly #timers = new Set<NodeJS.Timeout>()
  /** What those that have died had counted: a sum that shrinks would be taken for a new service's. */
  #buried = ''
  #restarts = 0
  #asked = 0
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
    const thread = new Worker(this.#options.thread, { workerData: this.#options.orders(worker) })
    const member: Member = {
      thread,
      since: performance.now(),
      isServing: false,
      tells: new Map(),
      told: '',
      ended: exit.promise,
    }
    let error: ToldError | undefined
    this.#members.set(worker, member)
    thread.on('message', (message: FromWorker) => {
      if (message.kind === 'failed') error = message.error
      else if (message.kind === 'ready') {
        member.isServing = true
        resolve(message.url)
      } else this.#hear(member, message)
    })
    thread.on('error', thrown => {
      error = toldError(thrown)
    })
    thread.on('exit', () => {
      const wasServing = member.isServing
      this.#bury(worker, member)
      exit.resolve()
      if (!wasServing) reject(new WorkerError(error ?? unexplained))
      else this.#restart(worker, member, error)
    })
    this.#introduce(worker, thread)
    return promise
  }

  async figures(): Promise<string> {
    await Promise.all([...this.#members.values()].map(member => this.#ask(member)))
    // Whoever has died meanwhile is among the buried, and only there.
    const texts = [...this.#members.values()].map(({ told }) => told)
    return merged([...texts, this.#buried, this.#ownFigures()])
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
    }, this.#options.patience)
    for (const worker of this.#members.keys()) this.send(worker, { kind: 'stop' })
    await Promise.all(members.map(({ ended }) => ended))
    clearTimeout(timer)
  }

  #ownFigures(): string {
    const { serving, restarts } = this.counts
    return [
      '# HELP portico_workers Workers that serve.',
      '# TYPE portico_workers gauge',
      `portico_workers ${serving}`,
      '# HELP portico_worker_restarts_total Workers that had died and were started anew.',
      '# TYPE portico_worker_restarts_total counter',
      `portico_worker_restarts_total ${restarts}`,
    ].join('\n')
  }

  /** Gives the new worker and every other one a way to each other. */
  #introduce(worker: number, thread: Worker): void {
    const tell = (to: Worker, about: number, port: MessageChannel['port1']) =>
      to.postMessage({ kind: 'peer', worker: about, port } satisfies ToWorker, [port])
    for (const [other, member] of this.#members) {
      if (other === worker) continue
      const { port1, port2 } = new MessageChannel()
      tell(thread, other, port1)
      tell(member.thread, worker, port2)
    }
  }

  #hear(member: Member, message: Exclude<FromWorker, { kind: 'ready' | 'failed' }>): void {
    if (message.kind === 'log') this.#options.log(message.text)
    else if (message.kind === 'abort') process.abort()
    else if (message.kind === 'figures') {
      member.told = message.text
      member.tells.get(message.id)?.()
    } else {
      const { id } = message
      void this.figures().then(text => member.thread.postMessage({ kind: 'gathered', id, text }))
    }
  }

  /** Resolves also when it does not tell in time: a scrape must not hang on one that is stuck. */
  #ask({ thread, tells, ended }: Member): Promise<void> {
    const id = this.#asked++
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, TELLING)
    tells.set(id, resolve)
    thread.postMessage({ kind: 'tell', id } satisfies ToWorker)
    void ended.then(resolve)
    return promise.finally(() => {
      clearTimeout(timer)
      tells.delete(id)
    })
  }

  #bury(worker: number, member: Member): void {
    member.isServing = false
    if (this.#members.get(worker) === member) this.#members.delete(worker)
    this.#buried = merged([this.#buried, counted(member.told)])
    member.told = ''
    bury(new Int32Array(this.#options.memory.file), worker)
  }

  #restart(worker: number, { since }: Pick<Member, 'since'>, error: ToldError | undefined): void {
    if (this.#isStopping) return
    const before = performance.now() - since > SETTLED ? 0 : (this.#deaths.get(worker) ?? 0)
    this.#deaths.set(worker, before + 1)
    const pause = (this.#options.pause ?? 100) * 2 ** Math.min(before, 6)
    this.#options.onDeath({ worker, error, pause })
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#restarts++
      const began = performance.now()
      this.start(worker).catch((failed: WorkerError) =>
        this.#restart(worker, { since: began }, toldError(failed)),
      )
    }, pause)
    this.#timers.add(timer)
  }
}

const unexplained: ToldError = toldError(new Error('A worker ended at its start.'))
