/** One run of a reaction for an event, or of a job, and its record. */

import { createHash, randomUUID } from 'node:crypto'
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { NewRecord, RecordKey, StoredRecord } from '../../base/records.ts'
import type { JsonObject } from '../../model/fields/type.ts'
import type { LoggedChange } from '../plan/change-feed.ts'
import type { RecordChange } from '../plan/transaction.ts'

/** Runs of reactions that wait for a retry, or for an earlier event of their item. */
export const waitingKind = 'ReactionRun'
/** Runs of jobs; their ids sort by due time. */
export const jobKind = 'JobRun'
/** Runs that were given up. */
export const deadKind = 'LogicDeadLetter'
/** Requests of operators. */
export const requestKind = 'LogicRequest'

/** The default retention of events. */
const deadLetterRetentionMs = 30 * 86_400_000

/** The scheduler's task. */
interface RunParts {
  /** `{name}/{event}` or `{name}/{key}`: what `portico reactions` shows. */
  readonly id: string
  readonly name: string
  /** Runs with the same key keep their order. */
  readonly itemKey: string
  /** In milliseconds since 1970. */
  readonly dueAt: number
  /** The number of failed attempts. */
  readonly attempts: number
  /** The number of runs, each started by the one before, that led to this one. */
  readonly depth: number
  /** The id of its record; undefined for an event that only the log has. */
  readonly stored: string | undefined
  /** Why the last attempt failed. */
  readonly error: string | undefined
  /** How many of the last attempts ended with the process. */
  readonly processEnds?: number | undefined
}

export interface ReactionRun extends RunParts {
  readonly kind: 'reaction'
  readonly event: number
  readonly change: LoggedChange
}

export interface JobRun extends RunParts {
  readonly kind: 'job'
  readonly event: null
  /** Unique among the runs of the job. */
  readonly key: string
  readonly input: JsonObject
  /** Its due time by the schedule; undefined for a run that `later` has started. */
  readonly scheduledFor: string | undefined
}

export type LogicRun = ReactionRun | JobRun

/** Where the run's code is declared, e.g. `jobs.nightly`. */
export function placeOf({ kind, name }: Pick<LogicRun, 'kind' | 'name'>): string {
  return `${kind === 'reaction' ? 'reactions' : 'jobs'}.${name}`
}

/** The same for every attempt, whichever node makes it. */
export function idempotencyKeyOf(run: LogicRun): string {
  const origin = run.kind === 'reaction' ? [run.event, run.change.at] : [run.key]
  return createHash('sha256')
    .update(JSON.stringify([run.name, ...origin]))
    .digest('hex')
    .slice(0, 32)
}

export function reactionRun(name: string, change: LoggedChange): ReactionRun {
  const { event, collection, id, depth } = change
  return {
    kind: 'reaction',
    id: `${name}/${event}`,
    name,
    itemKey: `${collection}/${id}`,
    event,
    dueAt: 0,
    attempts: 0,
    depth,
    stored: undefined,
    error: undefined,
    change,
  }
}

export type NewJobRun = Pick<JobRun, 'name' | 'input' | 'dueAt' | 'depth' | 'scheduledFor'>

export function jobRun(newRun: NewJobRun, key: string = newRun.scheduledFor ?? randomUUID()): JobRun {
  const { name, dueAt, scheduledFor } = newRun
  const id = `${name}/${key}`
  // Runs by the schedule do not overlap.
  const itemKey = scheduledFor === undefined ? key : 'schedule'
  const stored = `${String(Math.max(0, dueAt)).padStart(15, '0')}/${id}`
  return { ...newRun, kind: 'job', id, key, itemKey, event: null, attempts: 0, stored, error: undefined }
}

/** The run with another due time, and thus another record id. */
export function rescheduled(run: JobRun, dueAt: number): JobRun {
  return { ...run, stored: jobRun({ ...run, dueAt }, run.key).stored, dueAt }
}

/** The payload of a run's record. */
type RunPayload = Omit<ReactionRun, 'stored'> | Omit<JobRun, 'stored'>

function payloadOf(run: LogicRun): string {
  const { stored: _, ...payload } = run
  return JSON.stringify(payload satisfies RunPayload)
}

/** The id of the record of a waiting run, by the id of the run: padded, so that records sort by event. */
export function waitingId(runId: string): string {
  const [name = '', event = ''] = runId.split('/')
  return `${name}/${event.padStart(16, '0')}`
}

/** The run with the id of its record. */
export function storedRun(run: LogicRun): LogicRun {
  return run.kind === 'reaction' ? { ...run, stored: waitingId(run.id) } : run
}

function recordOf(run: LogicRun): NewRecord {
  const key =
    run.kind === 'reaction'
      ? { kind: waitingKind, id: waitingId(run.id) }
      : { kind: jobKind, id: run.stored ?? '' }
  return { ...key, payload: payloadOf(run), expiresAt: null }
}

function recordKeyOf(run: LogicRun): RecordKey | undefined {
  if (run.stored === undefined) return undefined
  return { kind: run.kind === 'reaction' ? waitingKind : jobKind, id: run.stored }
}

/** The step that stores the run. */
export function storeStep(run: LogicRun): RecordChange {
  return { kind: 'put', record: recordOf(run) }
}

/** The steps that delete the run's record. */
export function removeSteps(run: LogicRun): readonly RecordChange[] {
  const key = recordKeyOf(run)
  return key === undefined ? [] : [{ kind: 'delete', key }]
}

/** The step that stores the run as a dead letter. */
export function deadLetterStep(run: LogicRun, error: string, now: EpochMs): RecordChange {
  const record: NewRecord = {
    kind: deadKind,
    id: run.id,
    payload: payloadOf({ ...run, error, dueAt: now }),
    expiresAt: now + deadLetterRetentionMs,
  }
  return { kind: 'put', record }
}

export function runOf({
  kind: stored,
  id,
  payload,
}: Pick<StoredRecord, 'kind' | 'id' | 'payload'>): LogicRun {
  const run: RunPayload = JSON.parse(payload)
  return { ...run, stored: stored === deadKind ? undefined : id } as LogicRun
}
