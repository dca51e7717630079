/** Loads stored runs of jobs that are due into memory, a page at a time. */
import type { Clock } from '../../events/consumer/timetable.ts'
import type { Model } from '../../model/model.ts'
import type { Records, StoredRecord } from '../../records.ts'
import type { PushArguments } from '../runs/position.ts'
import {
  type JobRun,
  jobKind,
  type LogicRun,
  removeSteps,
  rescheduled,
  runOf,
  storeStep,
} from '../runs/run.ts'

/** How often the database is read for runs that other processes have stored. */
const pollIntervalMs = 500
/** The length of a page, and the maximum number of runs in memory. */
const pageLength = 100
/** Postpones a run whose job the model does not have: another node's model may have it. */
const unknownDelayMs = 600_000

export interface JobQueueParts {
  readonly model: Model
  readonly records: Pick<Records, 'after'>
  readonly clock: Clock
  readonly add: (run: LogicRun) => void
  readonly push: (...args: PushArguments) => void
}

export class JobQueue {
  readonly #parts: JobQueueParts
  /** The record ids of the runs in memory. */
  readonly #loadedIds = new Set<string>()
  #nextPollAt = 0

  constructor(parts: JobQueueParts) {
    this.#parts = parts
  }

  isLoaded(recordId: string): boolean {
    return this.#loadedIds.has(recordId)
  }

  /** Makes the next `load` read the database. */
  pollNow(): void {
    this.#nextPollAt = 0
  }

  /** Loads the runs that are due. */
  async load(): Promise<void> {
    const { clock, model, add } = this.#parts
    const now = clock.now()
    if (model.logic.jobs.size === 0 || now < this.#nextPollAt) return
    this.#nextPollAt = now + pollIntervalMs
    for (const record of await this.#page()) {
      if (dueAtOf(record) > now || this.#loadedIds.has(record.id)) continue
      const run = runOf(record)
      if (run.kind !== 'job') continue
      this.#loadedIds.add(record.id)
      if (model.logic.jobs.has(run.name)) add(run)
      else this.#postpone(run)
    }
  }

  /** Whether a stored run is due. */
  async hasDue(now: number): Promise<boolean> {
    if (this.#parts.model.logic.jobs.size === 0) return false
    const [first] = await this.#parts.records.after(jobKind, '', 1)
    return first !== undefined && dueAtOf(first) <= now
  }

  /** Frees the memory of a run that is done, or was stored again to be loaded later. */
  forget({ stored, kind }: LogicRun): void {
    if (kind !== 'job' || stored === undefined) return
    this.#loadedIds.delete(stored)
    this.pollNow()
  }

  async #page(): Promise<readonly StoredRecord[]> {
    if (this.#loadedIds.size >= pageLength) return []
    return this.#parts.records.after(jobKind, '', pageLength + this.#loadedIds.size)
  }

  #postpone(run: JobRun): void {
    const postponed = rescheduled(run, this.#parts.clock.now() + unknownDelayMs)
    this.#parts.push([...removeSteps(run), storeStep(postponed)], () => this.forget(run))
  }
}

function dueAtOf({ id }: StoredRecord): number {
  return Number(id.slice(0, id.indexOf('/')))
}
