/** Creates a run for each due time of a scheduled job. All missed due times of a job get a single run. */

import type { EpochMs } from '../../../base/epoch-ms.ts'
import { jobInputOf } from '../../../engine/logic/operations/later.ts'
import { type JobRun, jobRun } from '../../../engine/logic/run.ts'
import { type Schedule, scheduleOf } from '../../../model/logic/schedule.ts'
import type { Job, Model } from '../../../model/model.ts'
import type { PlannedJob, PlannedJobs } from '../position.ts'

interface ScheduledJob {
  readonly job: Job
  readonly text: string
  readonly schedule: Schedule
  next: number | undefined
}

/** A position further ahead was planned while the clock was wrong. */
const maxAheadMs = 3_600_000

export class Planner {
  readonly #scheduled: readonly ScheduledJob[]
  readonly #onMissed: (job: string, from: number, to: number) => void
  #planned: PlannedJobs

  constructor(model: Model, planned: PlannedJobs, onMissed: (job: string, from: number, to: number) => void) {
    this.#onMissed = onMissed
    this.#planned = planned
    this.#scheduled = [...model.logic.jobs.values()].flatMap(job => {
      const { schedule: text, timeZone } = job
      if (text === undefined) return []
      return [{ job, text, schedule: scheduleOf(text, timeZone), next: undefined }]
    })
  }

  get planned(): PlannedJobs {
    return this.#planned
  }

  /** The earliest due time; undefined without a scheduled job. */
  get next(): number | undefined {
    const times = this.#scheduled.flatMap(({ next }) => (next === undefined ? [] : [next]))
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** The runs that are due; `planned` then includes their due times. */
  plan(now: EpochMs): readonly JobRun[] {
    return this.#scheduled.flatMap(scheduledJob => this.#planJob(scheduledJob, now) ?? [])
  }

  /** The next due time of a job after `after`. */
  nextOf(name: string, after: number): number | undefined {
    return this.#scheduled.find(({ job }) => job.name === name)?.schedule.next(after)
  }

  #planJob(scheduledJob: ScheduledJob, now: number): JobRun | undefined {
    const { job, text, schedule } = scheduledJob
    const { timeZone, name } = job
    const position = this.#planned[name]
    const isAhead = position !== undefined && position.until > now + maxAheadMs
    if (position?.schedule !== text || position.timeZone !== timeZone || isAhead) {
      this.#set(name, { schedule: text, timeZone, until: now })
      scheduledJob.next = schedule.next(now)
      return undefined
    }
    scheduledJob.next ??= schedule.next(position.until)
    if (scheduledJob.next === undefined || scheduledJob.next > now) return undefined
    const dueAt = schedule.last(now, position.until) ?? scheduledJob.next
    if (dueAt > scheduledJob.next) this.#onMissed(name, scheduledJob.next, dueAt)
    this.#set(name, { ...position, until: dueAt })
    scheduledJob.next = schedule.next(dueAt)
    const scheduledFor = new Date(dueAt).toISOString()
    return jobRun({ name, input: jobInputOf(job, {}, now), dueAt, depth: 0, scheduledFor })
  }

  #set(name: string, planned: PlannedJob): void {
    this.#planned = { ...this.#planned, [name]: planned }
  }
}
