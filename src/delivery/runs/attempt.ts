/** One attempt to run a reaction or a job, with a time limit. Once the attempt has ended, its code has no further effects. */

import type { Awaitable } from '../../base/awaitable.ts'
import { type Principal, service } from '../../base/principal.ts'
import type { Watchdog } from '../../base/watchdog/watchdog.ts'
import { createData, type DataParts, executeBy, withMembers } from '../../engine/logic/data/create-data.ts'
import type { TransactionCode } from '../../engine/logic/data/data.ts'
import { type LostUpdate, ReadMemory } from '../../engine/logic/data/read-memory.ts'
import { admittedCall, createActions } from '../../engine/logic/operations/actions.ts'
import type { OperationLimits, OperationParts } from '../../engine/logic/operations/call.ts'
import { enqueueJob } from '../../engine/logic/operations/later.ts'
import { runAction } from '../../engine/logic/operations/run-action.ts'
import { TrackedCalls } from '../../engine/logic/operations/tracked-calls.ts'
import { runTransaction, transactionIsOpen } from '../../engine/logic/operations/transaction.ts'
import { idempotencyKeyOf, type LogicRun, placeOf } from '../../engine/logic/run.ts'
import type { Run as PlanRun } from '../../engine/plan/run.ts'
import type { RecordChange } from '../../engine/plan/transaction.ts'
import type { Action, Model } from '../../model/model.ts'
import type { LogicLog, LogicMail } from '../../model/types/run.ts'
import { afterAtMost, type Clock } from '../consumer/timetable.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'
import { fetchBy, type RunContext } from './context.ts'
import { logicEventOf } from './reactions/event.ts'

export interface RunAttemptParts {
  readonly model: Model
  readonly run: PlanRun
  readonly hooks: DataParts['hooks']
  /** Makes commits of other nodes visible. */
  readonly refresh: () => Awaitable<void>
  readonly mail: LogicMail
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly logOf: (run: LogicRun) => LogicLog
  readonly onLostUpdate: (run: LogicRun, update: LostUpdate) => void
  readonly clock: Clock
  readonly watchdog: Watchdog
  /** Of one transaction. */
  readonly limits: OperationLimits
  /** The maximum duration of an attempt. */
  readonly timeoutMs: number
}

export type RunOutcome =
  /** `startedJobs`: the steps that store the runs of jobs that the attempt has started. */
  | { readonly kind: 'succeeded'; readonly startedJobs: readonly RecordChange[] }
  /** `thrown`: what the model's code threw; undefined if Portico ended the attempt. */
  | { readonly kind: 'failed'; readonly error: string; readonly thrown?: unknown }
  /** The node stops or has lost the lease. The attempt is not counted. */
  | { readonly kind: 'interrupted' }

const maxErrorCharacters = 2000
/** The maximum number of job runs that one attempt may start. */
const maxStartedJobs = 1000

class Interrupted extends Error {}

/** Runs until the handler ends, the time is up, or `interrupt` is aborted. Never rejects. */
export async function attemptRun(
  parts: RunAttemptParts,
  run: LogicRun,
  interrupt: AbortSignal,
): Promise<RunOutcome> {
  const attempt = new RunAttempt(parts, run)
  const cancel = afterAtMost(parts.clock, parts.timeoutMs, () => {
    attempt.end(new Error(`It took longer than ${parts.timeoutMs / 1000} s (\`reactions.timeout\`).`))
  })
  const onInterrupt = () => attempt.end(new Interrupted('The node stops.'))
  interrupt.addEventListener('abort', onInterrupt, { once: true })
  if (interrupt.aborted) onInterrupt()
  try {
    return { kind: 'succeeded', startedJobs: await attempt.run() }
  } catch (error) {
    if (error instanceof Interrupted) return { kind: 'interrupted' }
    return { kind: 'failed', error: errorText(error), ...(attempt.isEndedBy(error) ? {} : { thrown: error }) }
  } finally {
    cancel()
    interrupt.removeEventListener('abort', onInterrupt)
  }
}

/** The error, for the operator. */
function errorText(error: unknown): string {
  return describe(error).replaceAll('\0', '').slice(0, maxErrorCharacters)
}

/** The name, the message or the conversion to text may throw. */
function describe(thrown: unknown): string {
  try {
    return thrown instanceof Error
      ? `${thrown.name}: ${thrown.message}`
      : `Thrown: ${JSON.stringify(thrown) ?? String(thrown)}`
  } catch {
    return `Thrown: ${typeof thrown}`
  }
}

class RunAttempt {
  readonly #parts: RunAttemptParts
  readonly #run: LogicRun
  readonly #abort = new AbortController()
  readonly #ended = Promise.withResolvers<never>()
  readonly #startedJobs: RecordChange[] = []
  readonly #calls = new TrackedCalls()
  readonly #reads = new ReadMemory(update => this.#parts.onLostUpdate(this.#run, update))
  #isOver = false
  #isInTransaction = false
  #endReason: Error | undefined

  constructor(parts: RunAttemptParts, run: LogicRun) {
    this.#parts = parts
    this.#run = run
    this.#ended.promise.catch(() => undefined)
  }

  async run(): Promise<readonly RecordChange[]> {
    try {
      const finished = this.#call().then(() => this.#calls.requireAwaited())
      await Promise.race([finished, this.#ended.promise])
      return this.#startedJobs
    } finally {
      this.#isOver = true
      // Leave the turn of the model's code before Portico's own code continues.
      await new Promise(resolve => setImmediate(resolve))
      this.#abort.abort()
    }
  }

  /** Aborts the attempt. */
  end(reason: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#endReason = reason
    this.#ended.reject(reason)
    this.#abort.abort(reason)
  }

  /** Whether `end` has ended the attempt with this error. */
  isEndedBy(error: unknown): boolean {
    return error === this.#endReason
  }

  #call(): Promise<void> {
    const { model } = this.#parts
    const run = this.#run
    return new Promise((resolve, reject) => {
      this.#turn(() => {
        const handlers = run.kind === 'reaction' ? model.logic.reactions : model.logic.jobs
        const handler = handlers.get(run.name)?.run as ((context: unknown) => unknown) | undefined
        // `async`, so that a synchronous throw rejects too.
        const call = async () => handler?.(Object.freeze(this.#context()))
        call().then(() => resolve(), reject)
      })
    })
  }

  #context(): object {
    const run = this.#run
    const { model, clock } = this.#parts
    if (run.kind === 'job')
      return { ...this.#sharedContext(), input: run.input, scheduledFor: run.scheduledFor }
    return {
      ...this.#sharedContext(),
      event: logicEventOf(model, run.change),
      attempt: run.attempts + 1,
      now: isoOf(clock),
    }
  }

  #sharedContext(): RunContext {
    const { model, run, hooks, refresh, mail, outgoing, logOf, clock, limits } = this.#parts
    const { signal } = this.#abort
    const { track } = this.#calls
    const execute = executeBy(run, limits)
    const parts: DataParts = {
      model,
      hooks,
      execute: (work, principal) =>
        this.#outsideTurn(async () => {
          await refresh()
          return execute(work, principal)
        }),
      track,
      reads: this.#reads,
    }
    const data = createData(parts, this.#principal)
    const fetch_ = fetchBy(outgoing, signal)
    return {
      // Runs act as the service: `asSystem` is the same.
      data: withMembers(data, {
        asSystem: data,
        transaction: <T>(code: TransactionCode<T>) => track(this.#transaction(code)),
      }),
      actions: createActions(model, (action, args) => track(this.#action(action, args))),
      emit: (type, item, values) => track(this.#commit((_, effects) => effects.emit(type, item, values))),
      mail: Object.freeze({ send: (message: never) => track(this.#outsideTurn(() => mail.send(message))) }),
      fetch: (url, options) => track(this.#outsideTurn(() => fetch_(url, options))),
      log: logOf(this.#run),
      signal,
      idempotencyKey: idempotencyKeyOf(this.#run),
      attempt: this.#run.attempts + 1,
      later: (at, name, input) => this.#enqueue(at, name, input),
      now: isoOf(clock),
    }
  }

  async #transaction<T>(code: TransactionCode<T>): Promise<T> {
    const transaction = this.#commit(code).finally(() => {
      this.#isInTransaction = false
    })
    this.#isInTransaction = true
    return transaction
  }

  async #commit<T>(code: TransactionCode<T>): Promise<T> {
    const { run, refresh } = this.#parts
    const call = {
      place: this.#place,
      isDeclared: true,
      principal: this.#principal,
      code,
      requireRunning: () => {
        if (this.#isOver) throw endedError()
      },
    }
    return this.#outsideTurn(async () => {
      this.#reads.clear()
      await refresh()
      return runTransaction(this.#operationParts, run, call)
    })
  }

  async #action(action: Action, args: readonly unknown[]): Promise<unknown> {
    const { model, run, refresh } = this.#parts
    return this.#outsideTurn(async () => {
      this.#reads.clear()
      await refresh()
      return runAction(this.#operationParts, run, admittedCall(model, action, args, this.#principal))
    })
  }

  get #operationParts(): OperationParts {
    const { model, hooks, watchdog, limits, clock } = this.#parts
    return { model, hooks, watchdog, limits, now: clock.now }
  }

  get #principal(): Principal {
    return { ...service, depth: this.#run.depth + 1 }
  }

  #enqueue(at: string | Date, name: string, input: object | undefined): void {
    const { model, clock } = this.#parts
    this.#requireRunning()
    if (this.#startedJobs.length >= maxStartedJobs)
      throw new RangeError(`A run starts at most ${maxStartedJobs} jobs.`)
    this.#startedJobs.push(
      enqueueJob(at, name, input, { model, now: clock.now(), depth: this.#run.depth + 1 }),
    )
  }

  /** The tools of the run do not take part in its transaction, and what waits for them within it would wait for ever. */
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
      if (!this.#isOver) this.#parts.watchdog.turn(this.#place, work)
    })
  }

  get #place(): string {
    return placeOf(this.#run)
  }
}

function endedError(): Error {
  return new Error('The run has ended: its `data`, `mail`, `fetch` and `later` no longer work.')
}

function isoOf(clock: Clock): string {
  return new Date(clock.now()).toISOString()
}
