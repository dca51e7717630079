/** Connections that read. What arrives in one turn of the event loop is sent together. */
import { ApiError } from '../../errors.ts'
import type { Inputs } from '../values.ts'
import { AnswerTimeout, ConnectionLost, failureOf, isOutdated, Unreachable } from './failure.ts'
import type { Query, Rows, Statement } from './statement.ts'
import type { Wire } from './wire.ts'

export interface PoolOptions {
  readonly open: () => Promise<Wire>
  readonly size: number
  /** How many reads may wait; beyond, they are refused as UNAVAILABLE. */
  readonly maxWaiting: number
  /** The database neither answers nor refuses. */
  readonly onSilence?: () => void
}

/** Queries that see one snapshot. */
interface Bundle {
  readonly queries: readonly Query[]
  readonly resolve: (rows: readonly Rows[]) => void
  readonly reject: (error: ApiError) => void
  tries: number
}

/** So many bundles are sent together at most: each trip has its price, but a slow one delays those beside it. */
const MOST = 32
/** After a failed try to connect, what is asked is refused at once for so long, in milliseconds. */
const PAUSE = 200
const TRIES = 3
const AWAY = 'The database cannot be reached.'

export class Pool {
  readonly #options: PoolOptions
  readonly #wires = new Set<Wire>()
  readonly #idle: Wire[] = []
  readonly #drain = (): void => {
    this.#scheduled = false
    this.#send()
  }
  #waiting: Bundle[] = []
  #opening = 0
  #scheduled = false
  #pausedUntil = 0
  #isClosed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  async rows(statement: Statement, inputs: Inputs): Promise<Rows> {
    const [rows = []] = await this.bundle([statement.with(inputs)])
    return rows
  }

  /**
   * Runs the queries in one snapshot. Rejects with an `ApiError`.
   * `atOnce`: without waiting for what else this turn of the event loop asks.
   */
  bundle(queries: readonly Query[], atOnce = false): Promise<readonly Rows[]> {
    const refused = this.#refusal()
    if (refused !== undefined) return Promise.reject(new ApiError('UNAVAILABLE', refused))
    const { promise, resolve, reject } = Promise.withResolvers<readonly Rows[]>()
    this.#waiting.push({ queries, resolve, reject, tries: 0 })
    if (atOnce) this.#send()
    else this.#schedule()
    return promise
  }

  /** Ends the connections that nobody uses: they may be as dead as another that was found so. */
  dropIdle(): void {
    for (const wire of this.#idle.splice(0)) wire.destroy()
  }

  /** The database is known to be away: whoever waits for an answer is refused now. */
  lose(): void {
    this.#pausedUntil = performance.now() + PAUSE
    for (const wire of [...this.#wires]) wire.destroy()
    this.#refuseAll(new ApiError('UNAVAILABLE', AWAY))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#refuseAll(new ApiError('UNAVAILABLE', 'The service is stopping.'))
    await Promise.all([...this.#wires].map(wire => wire.close()))
  }

  #refusal(): string | undefined {
    if (this.#isClosed) return 'The service is stopping.'
    if (this.#waiting.length >= this.#options.maxWaiting)
      return 'Too many requests are waiting for the database.'
    return this.#isPaused() ? AWAY : undefined
  }

  #isPaused(): boolean {
    return this.#wires.size === 0 && performance.now() < this.#pausedUntil
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#drain)
  }

  #send(): void {
    while (this.#waiting.length > 0) {
      const wire = this.#idle.pop()
      if (wire === undefined) break
      if (wire.isClosed) continue
      void this.#run(wire, this.#waiting.splice(0, MOST))
    }
    if (this.#waiting.length > 0) this.#openMore()
  }

  async #run(wire: Wire, bundles: readonly Bundle[]): Promise<void> {
    const { done, error } = await wire.run(bundles.flatMap(bundle => bundle.queries))
    let at = 0
    let failed = false
    for (const bundle of bundles) {
      const end = at + bundle.queries.length
      if (done.length >= end) bundle.resolve(done.slice(at, end))
      else if (failed) this.#waiting.push(bundle)
      else {
        failed = true
        this.#fail(bundle, error)
      }
      at = end
    }
    if (error !== undefined && isOutdated(error)) wire.destroy()
    if (!wire.isClosed) this.#idle.push(wire)
    if (this.#waiting.length > 0) this.#send()
  }

  /** Reads change nothing: one whose connection broke is asked again on another. */
  #fail(bundle: Bundle, cause: unknown): void {
    bundle.tries++
    const isAgain =
      (cause instanceof ConnectionLost && !(cause instanceof AnswerTimeout)) || isOutdated(cause)
    if (isAgain && bundle.tries < TRIES && !this.#isPaused()) this.#waiting.push(bundle)
    else bundle.reject(failureOf(cause))
  }

  #openMore(): void {
    const { size } = this.#options
    if (this.#wires.size + this.#opening >= size || this.#opening >= this.#waiting.length) return
    this.#opening++
    this.#options
      .open()
      .then(
        wire => this.#opened(wire),
        error => this.#unreachable(error),
      )
      .finally(() => {
        this.#opening--
        if (this.#waiting.length > 0) this.#schedule()
      })
  }

  #opened(wire: Wire): void {
    if (this.#isClosed) return void wire.close()
    this.#wires.add(wire)
    this.#idle.push(wire)
    wire.onClose(() => {
      this.#wires.delete(wire)
      this.#schedule()
    })
  }

  #unreachable(cause: unknown): void {
    if (this.#wires.size > 0) return
    this.#pausedUntil = performance.now() + PAUSE
    this.#refuseAll(failureOf(cause))
    if (cause instanceof Unreachable && !cause.isAnswered) this.#options.onSilence?.()
  }

  #refuseAll(error: ApiError): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { reject } of waiting) reject(error)
  }
}
