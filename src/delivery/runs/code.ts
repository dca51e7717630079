/** Code of the model outside of transactions: of reactions, jobs and routes. Once it has ended, it has no further effects. */

import type { Awaitable } from '../../base/awaitable.ts'
import { type Principal, service } from '../../base/principal.ts'
import type { Watchdog } from '../../base/watchdog/watchdog.ts'
import { createData, type DataParts, executeBy, withMembers } from '../../engine/logic/data/create-data.ts'
import type { TransactionCode } from '../../engine/logic/data/data.ts'
import { type LostUpdate, ReadMemory } from '../../engine/logic/data/read-memory.ts'
import { admittedCall, createCallerActions } from '../../engine/logic/operations/actions.ts'
import type { OperationLimits, OperationParts } from '../../engine/logic/operations/call.ts'
import { enqueueJob } from '../../engine/logic/operations/later.ts'
import { onceRecord } from '../../engine/logic/operations/once.ts'
import { runAction } from '../../engine/logic/operations/run-action.ts'
import { TrackedCalls } from '../../engine/logic/operations/tracked-calls.ts'
import {
  runOnce,
  runTransaction,
  type TransactionCall,
  transactionIsOpen,
} from '../../engine/logic/operations/transaction.ts'
import type { Run as PlanRun } from '../../engine/plan/run.ts'
import type { RecordChange } from '../../engine/plan/transaction.ts'
import type { Action, Model } from '../../model/model.ts'
import type { OnceResult } from '../../model/types/data.ts'
import type { LogicLog, LogicMail } from '../../model/types/run.ts'
import type { Clock } from '../consumer/timetable.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'
import { type CodeTools, fetchBy } from './context.ts'

export interface CodeParts {
  readonly model: Model
  readonly run: PlanRun
  readonly hooks: DataParts['hooks']
  /** Makes commits of other nodes visible. */
  readonly refresh: () => Awaitable<void>
  readonly mail: LogicMail
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly clock: Clock
  readonly watchdog: Watchdog
  /** Of one transaction. */
  readonly limits: OperationLimits
  /** `place`: that of the code. */
  readonly onLostUpdate: (place: string, update: LostUpdate) => void
  /** How long the keys of `once` are kept. */
  readonly onceMs: number
}

export interface CodeOptions {
  /** Where it is declared, e.g. `jobs.nightly`. */
  readonly place: string
  /** Whose reads and writes those of `data` are. */
  readonly principal: Principal
  readonly log: LogicLog
  /** The key of `once` where the code gives none; undefined: it must give one. */
  readonly ownKey?: string
}

/** The maximum number of job runs that one call of the code may start. */
const maxStartedJobs = 1000

export class CodeRun {
  /** The steps that store the runs of jobs that the code has started. */
  readonly startedJobs: RecordChange[] = []
  readonly tools: CodeTools
  readonly #parts: CodeParts
  readonly #options: CodeOptions
  readonly #abort = new AbortController()
  readonly #waits = new Set<(reason: Error) => void>()
  readonly #calls = new TrackedCalls()
  readonly #reads: ReadMemory
  #isOver = false
  #isInTransaction = false
  #endReason: Error | undefined

  constructor(parts: CodeParts, options: CodeOptions) {
    this.#parts = parts
    this.#options = options
    this.#reads = new ReadMemory(update => parts.onLostUpdate(options.place, update))
    this.tools = this.#createTools()
  }

  /** Runs the code. Also rejects if a call that it has not awaited failed, and when `end` is called. */
  run<T>(code: () => Awaitable<T>): Promise<T> {
    const finished = this.#inTurn(code).then(async value => {
      await this.#calls.requireAwaited()
      return value
    })
    return this.#untilEnd(finished)
  }

  /** Runs code that continues what `run` has returned, e.g. a part of a stream. */
  async resume<T>(code: () => Awaitable<T>): Promise<T> {
    const value = await this.#untilEnd(this.#inTurn(code))
    await leaveTurn()
    return value
  }

  /** Waits for the calls that `resume` has left. Rejects if one that was not awaited failed. */
  requireAwaited(): Promise<void> {
    return this.#untilEnd(this.#calls.requireAwaited())
  }

  /** Rejects when `end` is called. A promise that all waits share would keep each of them. */
  async #untilEnd<T>(work: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>()
    if (this.#endReason) reject(this.#endReason)
    this.#waits.add(reject)
    try {
      return await Promise.race([work, promise])
    } finally {
      this.#waits.delete(reject)
    }
  }

  /** From now on, the tools refuse to work. */
  async close(): Promise<void> {
    this.#isOver = true
    await leaveTurn()
    this.#abort.abort()
  }

  /** Ends the code before it has finished. */
  end(reason: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#endReason = reason
    for (const reject of this.#waits) reject(reason)
    this.#abort.abort(reason)
  }

  /** Lets code clean up after its end: its tools do not work. */
  release(work: () => unknown): void {
    const call = async () => work()
    setImmediate(() =>
      this.#parts.watchdog.turn(this.#options.place, () => void call().catch(() => undefined)),
    )
  }

  /** Whether `end` has ended the code with this error. */
  isEndedBy(error: unknown): boolean {
    return error === this.#endReason
  }

  #inTurn<T>(code: () => Awaitable<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#turn(() => {
        // `async`, so that a synchronous throw rejects too.
        const call = async () => code()
        call().then(resolve, reject)
      })
    })
  }

  #createTools(): CodeTools {
    const { model, run, hooks, refresh, mail, outgoing, clock, limits } = this.#parts
    const { principal, log } = this.#options
    const { signal } = this.#abort
    const { track } = this.#calls
    const execute = executeBy(run, limits)
    const parts: DataParts = {
      model,
      hooks,
      execute: (work, as) =>
        this.#outsideTurn(async () => {
          await refresh()
          return execute(work, as)
        }),
      track,
      reads: this.#reads,
    }
    const data = createData(parts, principal)
    const fetch_ = fetchBy(outgoing, signal)
    const transact = <T>(call: TransactionCall<T>) => runTransaction(this.#operationParts(), run, call)
    return {
      data: withMembers(data, {
        asSystem: principal.access.system ? data : createData(parts, service),
        transaction: <T>(code: TransactionCode<T>) => track(this.#transaction(code, transact)),
      }),
      actions: createCallerActions(model, principal, (action, args, caller) =>
        track(this.#action(action, args, caller)),
      ),
      emit: (type, item, values) =>
        track(this.#commit((_, effects) => effects.emit(type, item, values), transact)),
      once: (key: string | TransactionCode, code?: TransactionCode) => track(this.#once(key, code)),
      mail: Object.freeze({ send: (message: never) => track(this.#outsideTurn(() => mail.send(message))) }),
      fetch: (url, options) => track(this.#outsideTurn(() => fetch_(url, options))),
      log,
      signal,
      later: (at, name, input) => this.#enqueue(at, name, input),
      now: new Date(clock.now()).toISOString(),
    }
  }

  #operationParts(): OperationParts {
    const { model, hooks, watchdog, limits, clock } = this.#parts
    return { model, hooks, watchdog, limits, now: clock.now }
  }

  async #transaction<T, R>(
    code: TransactionCode<T>,
    run: (call: TransactionCall<T>) => Promise<R>,
  ): Promise<R> {
    this.#requireRunning()
    const transaction = this.#commit(code, run)
    this.#isInTransaction = true
    try {
      return await transaction
    } finally {
      this.#isInTransaction = false
    }
  }

  async #commit<T, R>(code: TransactionCode<T>, run: (call: TransactionCall<T>) => Promise<R>): Promise<R> {
    const { place, principal } = this.#options
    const requireRunning = () => {
      if (this.#isOver) throw endedError()
    }
    return this.#outsideTurn(async () => {
      this.#reads.clear()
      await this.#parts.refresh()
      return run({ place, isDeclared: true, principal, code, requireRunning })
    })
  }

  async #action(action: Action, args: readonly unknown[], caller: Principal): Promise<unknown> {
    const { model, run, refresh } = this.#parts
    return this.#outsideTurn(async () => {
      this.#reads.clear()
      await refresh()
      return runAction(this.#operationParts(), run, admittedCall(model, action, args, caller))
    })
  }

  async #once(given: string | TransactionCode, givenCode?: TransactionCode): Promise<OnceResult> {
    const [key, code] = typeof given === 'function' ? [undefined, given] : [given, givenCode]
    if (typeof code !== 'function') throw new TypeError('once: write `once(key, async data => { … })`.')
    const { ownKey, place } = this.#options
    const { clock, onceMs, run } = this.#parts
    const record = onceRecord(place, key, ownKey, clock.now() + onceMs)
    return this.#transaction(code, call => runOnce(this.#operationParts(), run, { ...call, once: record }))
  }

  #enqueue(at: string | Date, name: string, input: object | undefined): void {
    const { model } = this.#parts
    const { depth = 0 } = this.#options.principal
    // How long after this run it is due, however long the code took to say so.
    const now = Date.parse(this.tools.now)
    this.#requireRunning()
    if (this.startedJobs.length >= maxStartedJobs)
      throw new RangeError(`A run starts at most ${maxStartedJobs} jobs.`)
    this.startedJobs.push(enqueueJob(at, name, input, { model, now, depth }))
  }

  /** The tools do not take part in a transaction of the code, and what waits for them within it would wait for ever. */
  #requireRunning(): void {
    if (this.#isOver) throw endedError()
    if (this.#isInTransaction) throw transactionIsOpen()
  }

  /** Does the work outside the turn of the model's code, which then continues in a new turn: the watchdog counts none of it. */
  #outsideTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#requireRunning()
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        if (this.#isOver) return
        work().then(
          value => this.#turn(() => resolve(value)),
          error => this.#turn(() => reject(error)),
        )
      })
    })
  }

  /** Runs the model's code until it waits for something. */
  #turn(work: () => void): void {
    setImmediate(() => {
      if (!this.#isOver) this.#parts.watchdog.turn(this.#options.place, work)
    })
  }
}

/** Portico's own code continues outside the turn of the model's code. */
function leaveTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

function endedError(): Error {
  return new Error('The code has ended: its tools no longer work.')
}
