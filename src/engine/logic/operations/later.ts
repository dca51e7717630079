/** `later`: a run of a job, stored in the transaction of the action, reaction or job that starts it. */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import { ApiError } from '../../../base/errors.ts'
import type { JsonObject } from '../../../model/fields/type.ts'
import type { Collection, Job, Model } from '../../../model/model.ts'
import { didYouMean } from '../../../model/suggest.ts'
import { bodyValidator } from '../../../model/validate.ts'
import type { RecordChange } from '../../plan/transaction.ts'
import { jobRun, storeStep } from '../run.ts'
import { collectionOfFields, withDefaults } from './input.ts'

export interface LaterOptions {
  readonly model: Model
  readonly now: EpochMs
  /** The number of runs, each started by the one before, that led to this one. */
  readonly depth: number
}

/** A run that is due at least this much later begins a new chain: a job that restarts itself no faster may do so forever. */
const newChainMs = 60_000
const maxInputBytes = 65_536
const lastTime = Date.UTC(9999, 11, 31)

/**
 * The transaction step that stores a run of a job. A time in the past counts as now. Throws BAD_REQUEST for an unknown
 * job or an invalid time, VALIDATION_FAILED for an invalid input.
 */
export function enqueueJob(
  dueTime: string | Date,
  name: string,
  input: unknown,
  { model, now, depth }: LaterOptions,
): RecordChange {
  const { jobs } = model.logic
  const job = jobs.get(name)
  if (job === undefined) {
    throw badCall(`There is no job \`${name}\`.${didYouMean(String(name), jobs.keys())}`)
  }
  const dueAt = Math.max(timeOf(dueTime), now)
  const isNewChain = dueAt - now >= newChainMs
  const values = jobInputOf(job, input ?? {}, now)
  return storeStep(
    jobRun({ name, input: values, dueAt, depth: isNewChain ? 0 : depth, scheduledFor: undefined }),
  )
}

function badCall(message: string): ApiError {
  return new ApiError('BAD_REQUEST', `later: ${message}`)
}

function timeOf(at: unknown): number {
  const time = at instanceof Date ? at.getTime() : typeof at === 'string' ? Date.parse(at) : Number.NaN
  if (time >= 0 && time <= lastTime) return time
  throw badCall('Give the time as a Date, or as ISO 8601, e.g. `2026-01-31T09:00:00Z`.')
}

const inputs = new WeakMap<Job, Collection>()

/** The input as a collection, so that it is validated like a body. */
function inputShape(job: Job): Collection {
  const shape = inputs.get(job) ?? collectionOfFields(`jobs.${job.name}`, job.input)
  inputs.set(job, shape)
  return shape
}

/** The canonical input of a job, with defaults. Throws VALIDATION_FAILED. */
export function jobInputOf(job: Job, input: unknown, now: EpochMs): JsonObject {
  const shape = inputShape(job)
  const { values } = bodyValidator(shape).create(input)
  const completeInput = withDefaults(shape, values, new Date(now).toISOString(), null)
  if (Buffer.byteLength(JSON.stringify(completeInput)) > maxInputBytes) {
    throw badCall(`The input of a job has at most ${maxInputBytes} bytes.`)
  }
  return Object.freeze(completeInput)
}
