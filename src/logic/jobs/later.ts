/** `later`: a run of a job that is stored with whatever asks for it. */
import { ApiError } from '../../errors.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Collection, Job, Model } from '../../model/model.ts'
import { didYouMean } from '../../model/nearest.ts'
import { bodyValidator } from '../../model/validate.ts'
import type { RecordChange } from '../../plan/transaction.ts'
import { jobRun, stores } from '../runs/run.ts'

export interface LaterOptions {
  readonly model: Model
  /** In milliseconds since 1970. */
  readonly now: number
  /** By how many runs, each caused by the one before, it came to this. */
  readonly depth: number
}

/** A run that is due later than this begins a chain of its own: whatever it starts again comes at this pace at most. */
const newChainMs = 60_000
const maxInputBytes = 65_536
const lastTime = Date.UTC(9999, 11, 31)

/**
 * The step of a transaction that stores a run of a job. `at`: a time in the past is now. Throws BAD_REQUEST for an unknown
 * job or time, VALIDATION_FAILED for an input that does not fit.
 */
export function enqueueJob(
  at: string | Date,
  name: string,
  input: unknown,
  { model, now, depth }: LaterOptions,
): RecordChange {
  const { jobs } = model.logic
  const job = jobs.get(name)
  if (job === undefined) {
    throw badCall(`There is no job \`${name}\`.${didYouMean(String(name), jobs.keys())}`)
  }
  const dueAt = Math.max(timeOf(at), now)
  const isNewChain = dueAt - now >= newChainMs
  const values = inputOf(job, input ?? {})
  return stores(
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

/** A collection that has the inputs of a job as its fields, so that they are checked like a body. */
function collectionOf(job: Job): Collection {
  const made: Collection = inputs.get(job) ?? {
    ...none,
    name: `jobs.${job.name}`,
    singular: job.name,
    fields: job.input,
  }
  inputs.set(job, made)
  return made
}

const nobody = { kind: 'nobody' } as const
const none: Omit<Collection, 'name' | 'singular' | 'fields'> = {
  description: undefined,
  relations: new Map(),
  indexes: [],
  access: { read: nobody, create: nobody, update: nobody, delete: nobody },
  searchable: [],
  deprecated: undefined,
  renamedFrom: undefined,
  unlogged: true,
  computed: new Map(),
  prepare: undefined,
  check: undefined,
  limits: [],
}

/** The checked input of a job, with defaults. Throws VALIDATION_FAILED. */
export function inputOf(job: Job, input: unknown): Readonly<Record<string, JsonValue>> {
  const { values } = bodyValidator(collectionOf(job)).create(input)
  const defaults = [...job.input.values()].map(({ name, default: standard }) => [
    name,
    standard?.kind === 'value' ? standard.value : null,
  ])
  const all = { ...Object.fromEntries(defaults), ...values }
  if (Buffer.byteLength(JSON.stringify(all)) > maxInputBytes) {
    throw badCall(`The input of a job has at most ${maxInputBytes} bytes.`)
  }
  return Object.freeze(all)
}
