/** Connections that read. What arrives in one turn of the event loop is sent together. */
import { ApiError } from '../../errors.ts'
import type { Inputs } from '../values.ts'
import {
  AnswerTimeout,
  ConnectionLost,
  failureOf,
  isLockTimeout,
  isOutdated,
  Unreachable,
} from './failure.ts'
import { type Bundle, LockedReads } from './locked-reads.ts'
import type { Query, Rows, Statement } from './statement.ts'
import type { Wire } from './wire.ts'
import { AWAY, Wires } from './wires.ts'

export interface PoolOptions {
  readonly open: () => Promise<Wire>
  readonly size: number
  /** How many reads may wait; beyond, they are refused as UNAVAILABLE. */
  readonly maxWaiting: number
  /** What each trip begins with; its results come before those of every bundle. */
  readonly before?: () => readonly Query[]
  /** How often a bundle is sent for which the server or the connection is not right; 3 by default. */
  readonly tries?: number
  /** How long a read waits for a table that somebody has locked, in milliseconds; 10,000 by default. */
  readonly lockWaitMs?: number
  /** The database neither answers nor refuses. */
  readonly onSilence?: () => void
}

/** So many bundles are sent together at most: each trip has its price, but a slow one delays those beside it. */
const MOST = 32
const TRIES = 3

export class Pool {
  readonly #options: PoolOptions
  readonly #tries: number
  readonly #wires: Wires
  readonly #drain = (): void => {
    this.#scheduled = false
    this.#send()
  }
  readonly #locked: LockedReads
  #waiting: Bundle[] = []
  #opening = 0
  #scheduled = false
  #isClosed = false

  constructor(options: PoolOptions) {
    this.#options = options
    this.#tries = options.tries ?? TRIES
    this.#wires = new Wires(options.open)
    this.#locked = new LockedReads(options.size, options.lockWaitMs ?? 10_000)
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

  /** See `Wires`. */
  dropIdle(): void {
    this.#wires.dropIdle()
  }

  /** The database is known to be away: whoever waits for an answer is refused now. */
  lose(): void {
    this.#wires.lose()
    this.#refuseAll(new ApiError('UNAVAILABLE', AWAY))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#refuseAll(new ApiError('UNAVAILABLE', 'The service is stopping.'))
    await this.#wires.close()
  }

  #refusal(): string | undefined {
    if (this.#isClosed) return 'The service is stopping.'
    if (this.#waiting.length + this.#locked.waiting >= this.#options.maxWaiting)
      return 'Too many requests are waiting for the database.'
    return this.#wires.isAway ? AWAY : undefined
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#drain)
  }

  #send(): void {
    if (this.#locked.isAny) this.#waiting = this.#locked.setAside(this.#waiting)
    while (this.#waiting.length > 0) {
      const wire = this.#wires.take()
      if (wire === undefined) break
      void this.#run(wire, this.#waiting.splice(0, MOST))
    }
    if (this.#locked.isAny) this.#sendLocked()
    if (this.#waiting.length + this.#locked.waiting > 0) this.#openMore()
  }

  #sendLocked(): void {
    while (this.#locked.mayAsk) {
      const wire = this.#wires.take()
      if (wire === undefined) return
      void this.#run(wire, this.#locked.next(MOST)).finally(() => {
        this.#locked.asked()
        this.#schedule()
      })
    }
  }

  async #run(wire: Wire, bundles: readonly Bundle[]): Promise<void> {
    const queries = bundles.flatMap(bundle => bundle.queries)
    const before = this.#options.before?.()
    const { done, error } = await wire.run(before === undefined ? queries : [...before, ...queries])
    const told = before === undefined ? undefined : done.slice(0, before.length)
    let at = before?.length ?? 0
    let failed = false
    for (const bundle of bundles) {
      const end = at + bundle.queries.length
      const rows = done.slice(at, end)
      if (done.length >= end) {
        if (this.#locked.isAny) this.#locked.answered(bundle)
        bundle.resolve(told === undefined ? rows : [...told, ...rows])
      } else if (isLockTimeout(error)) {
        // It has kept those behind it waiting: it waits on by itself, and they are asked again at once.
        if (failed) this.#waiting.push(bundle)
        else this.#locked.add(bundle, bundle.queries[done.length - at], error)
        failed = true
      } else if (failed && this.#tries > 1) this.#waiting.push(bundle)
      else {
        failed = true
        this.#fail(bundle, error)
      }
      at = end
    }
    if (error !== undefined && isOutdated(error)) wire.destroy()
    this.#wires.giveBack(wire)
    if (this.#waiting.length + this.#locked.waiting > 0) this.#send()
  }

  /** Reads change nothing: one whose connection broke is asked again on another. */
  #fail(bundle: Bundle, cause: unknown): void {
    bundle.tries++
    const isAgain =
      (cause instanceof ConnectionLost && !(cause instanceof AnswerTimeout)) || isOutdated(cause)
    if (isAgain && bundle.tries < this.#tries && !this.#wires.isAway) this.#waiting.push(bundle)
    else bundle.reject(failureOf(cause))
  }

  #openMore(): void {
    const { size } = this.#options
    if (
      this.#wires.size + this.#opening >= size ||
      this.#opening >= this.#waiting.length + this.#locked.waiting
    )
      return
    this.#opening++
    this.#wires
      .open()
      .then(
        wire => this.#opened(wire),
        error => this.#unreachable(error),
      )
      .finally(() => {
        this.#opening--
        if (this.#waiting.length + this.#locked.waiting > 0) this.#schedule()
      })
  }

  #opened(wire: Wire): void {
    if (this.#isClosed) return void wire.close()
    this.#wires.giveBack(wire)
    wire.onClose(() => this.#schedule())
  }

  #unreachable(cause: unknown): void {
    if (this.#wires.size > 0) return
    this.#refuseAll(failureOf(cause))
    if (cause instanceof Unreachable && !cause.isAnswered) this.#options.onSilence?.()
  }

  #refuseAll(error: ApiError): void {
    const waiting = [...this.#waiting, ...this.#locked.takeAll()]
    this.#waiting = []
    for (const { reject } of waiting) reject(error)
  }
}
