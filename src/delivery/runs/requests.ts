/** Operators' requests to retry a run now or to skip it. The node that holds the lease reads them from the database. */

import { Pause } from '../../base/pause.ts'
import { type NewRecord, type Records, recordsOf } from '../../base/records.ts'
import {
  deadKind,
  type JobRun,
  jobKind,
  type LogicRun,
  type ReactionRun,
  removeSteps,
  requestKind,
  rescheduled,
  runOf,
  storedRun,
  storeStep,
  waitingId,
  waitingKind,
} from '../../engine/logic/run.ts'
import type { Clock } from '../consumer/timetable.ts'
import type { PushArguments } from './position.ts'
import type { ReactionProgress } from './reactions/progress.ts'

export type RunAction = 'retry' | 'skip'

const intervalMs = 500

/** `id`: that of a run, `{name}/{event}` or `{name}/{key}`; to skip, also the name of a reaction or job. */
export function requestRecord(action: RunAction, id: string): NewRecord {
  return { kind: requestKind, id, payload: JSON.stringify({ action }), expiresAt: null }
}

interface RequestParts {
  readonly records: Pick<Records, 'after' | 'get'>
  readonly clock: Clock
  readonly add: (run: LogicRun) => void
  readonly push: (...args: PushArguments) => void
  /** Whether the job's run with this record is in memory: running, or about to run. */
  readonly isLoaded: (recordId: string) => boolean
  /** Removes the position of a reaction or job that the model does not have. */
  readonly forget: (name: string) => void
}

export class RunRequests {
  readonly #parts: RequestParts
  readonly #progressOf: (reaction: string) => ReactionProgress | undefined
  /** The ids of waiting runs that will be dropped instead of being tried again. */
  readonly #skipped = new Set<string>()
  readonly #pause = new Pause()

  constructor(parts: RequestParts, progressOf: (reaction: string) => ReactionProgress | undefined) {
    this.#parts = parts
    this.#progressOf = progressOf
  }

  /** Whether an operator has skipped the run. Called once, before the run would be tried. */
  isSkipped({ id }: LogicRun): boolean {
    return this.#skipped.delete(id)
  }

  async handleAll(): Promise<void> {
    const { records, clock, push } = this.#parts
    if (!this.#pause.isOver(clock.now())) return
    this.#pause.begin(clock.now(), intervalMs)
    const remaining = new Map<string, RunAction>()
    for await (const { kind, id, payload } of recordsOf(records, requestKind)) {
      const { action }: { readonly action: RunAction } = JSON.parse(payload)
      if (!id.includes('/')) this.#parts.forget(id)
      else if (!((await this.#handleDead(action, id)) || (await this.#handleWaiting(action, id))))
        remaining.set(id, action)
      push([{ kind: 'delete', key: { kind, id } }])
    }
    if (remaining.size > 0) await this.#handleJobs(remaining)
  }

  async #handleDead(action: RunAction, id: string): Promise<boolean> {
    const { records, push } = this.#parts
    const record = await records.get(deadKind, id)
    if (record === undefined) return false
    const remove = { kind: 'delete', key: { kind: deadKind, id } } as const
    if (action === 'skip') push([remove])
    else this.#requeue(runOf(record), remove)
    return true
  }

  /** Puts a dead letter back into the queue. It begins a new chain. */
  #requeue(dead: LogicRun, remove: PushArguments[0][number]): void {
    const { clock, push } = this.#parts
    const now = clock.now()
    this.#skipped.delete(dead.id)
    const restart = { attempts: 0, depth: 0, dueAt: now, processEnds: undefined }
    if (dead.kind === 'job') {
      push([remove, storeStep(rescheduled({ ...dead, ...restart }, now))])
      return
    }
    const run = storedRun({ ...dead, ...restart }) as ReactionRun
    push([remove, storeStep(run)])
    this.#progressOf(run.name)?.restore(run)
  }

  async #handleWaiting(action: RunAction, id: string): Promise<boolean> {
    const { records, clock, add } = this.#parts
    const [name = ''] = id.split('/')
    if (this.#progressOf(name) === undefined) return false
    const record = await records.get(waitingKind, waitingId(id))
    if (record === undefined) return false
    if (action === 'skip') this.#skipped.add(id)
    add({ ...runOf(record), dueAt: clock.now() })
    return true
  }

  /** Runs of jobs are stored by due time, so they are all scanned, once for all requests. */
  async #handleJobs(actions: Map<string, RunAction>): Promise<void> {
    const { records, clock, push, isLoaded: isTaken } = this.#parts
    for await (const record of recordsOf(records, jobKind)) {
      const run = runOf(record) as JobRun
      const action = actions.get(run.id)
      if (action === undefined) continue
      actions.delete(run.id)
      if (!isTaken(record.id)) {
        const requeued = action === 'skip' ? [] : [storeStep(rescheduled(run, clock.now()))]
        push([...removeSteps(run), ...requeued])
      }
      if (actions.size === 0) return
    }
  }
}
