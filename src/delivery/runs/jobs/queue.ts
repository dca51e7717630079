/** Loads stored runs of jobs that are due into memory, a page at a time. */

import { Pause } from '../../../base/pause.ts'
import type { Records, StoredRecord } from '../../../base/records.ts'
import {
  type JobRun,
  jobKind,
  type LogicRun,
  removeSteps,
  rescheduled,
  runOf,
  storeStep,
} from '../../../engine/logic/run.ts'
import type { Model } from '../../../model/model.ts'
import type { Clock } from '../../consumer/timetable.ts'
import type { PushArguments } from '../position.ts'

/** How often the database is read for runs that other processes have stored. */
const pollIntervalMs = 500
const pageLength = 100
/** The maximum number of runs in memory, for each job. */
const maxLoadedPerJob = 50
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
  /** The record ids of the runs in memory, by job. */
  readonly #loadedIds = new Map<string, Set<string>>()
  readonly #pause = new Pause()
  readonly #searchPause = new Pause()
  /** The last record that the search has read. */
  #searched = ''

  constructor(parts: JobQueueParts) {
    this.#parts = parts
  }

  isLoaded(recordId: string): boolean {
    return this.#idsOf(jobOf(recordId)).has(recordId)
  }

  /** Makes the next `load` read the database. */
  pollNow(): void {
    this.#pause.end()
  }

  /**
   * Loads the runs that have been due the longest. Many runs of one job may come before those of all others: so it also
   * searches the runs behind them, a page at a time.
   */
  async load(): Promise<void> {
    const { clock, model } = this.#parts
    const now = clock.now()
    if (model.logic.jobs.size === 0 || !this.#pause.isOver(now)) return
    this.#pause.begin(now, pollIntervalMs)
    const last = await this.#loadPage('', now)
    if (last === undefined) this.#searched = ''
    else if (this.#searchPause.isOver(now)) {
      this.#searchPause.begin(now, pollIntervalMs)
      if (this.#searched < last) this.#searched = last
      this.#searched = (await this.#loadPage(this.#searched, now)) ?? ''
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
    const job = jobOf(stored)
    const ids = this.#idsOf(job)
    ids.delete(stored)
    if (ids.size === 0) this.#loadedIds.delete(job)
    this.pollNow()
  }

  /** Loads runs that are due. Returns the last record of the page if more of them may follow. */
  async #loadPage(after: string, now: number): Promise<string | undefined> {
    const page = await this.#parts.records.after(jobKind, after, pageLength)
    const due = page.filter(record => dueAtOf(record) <= now)
    for (const record of due) this.#load(record)
    return due.length === pageLength ? due.at(-1)?.id : undefined
  }

  #load(record: StoredRecord): void {
    const { model, add } = this.#parts
    const job = jobOf(record.id)
    const ids = this.#idsOf(job)
    if (ids.has(record.id) || ids.size >= maxLoadedPerJob) return
    const run = runOf(record)
    if (run.kind !== 'job') return
    this.#loadedIds.set(job, ids.add(record.id))
    if (model.logic.jobs.has(job)) add(run)
    else this.#postpone(run)
  }

  #idsOf(job: string): Set<string> {
    return this.#loadedIds.get(job) ?? new Set()
  }

  #postpone(run: JobRun): void {
    const postponed = rescheduled(run, this.#parts.clock.now() + unknownDelayMs)
    this.#parts.push([...removeSteps(run), storeStep(postponed)], () => this.forget(run))
  }
}

function dueAtOf({ id }: Pick<StoredRecord, 'id'>): number {
  return Number(id.slice(0, id.indexOf('/')))
}

/** The name of the job whose run has this record. */
function jobOf(recordId: string): string {
  return recordId.split('/', 2)[1] ?? ''
}
