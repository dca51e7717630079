/** What is to be run: an event by a reaction, or a job; and how it is stored. */
import { createHash, randomUUID } from 'node:crypto'
import type { LoggedChange } from '../../events/change-feed.ts'
import type { Task } from '../../events/consumer/item-queue.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { RecordChange } from '../../plan/transaction.ts'
import type { NewRecord, RecordKey, StoredRecord } from '../../records.ts'

/** Events that wait for their reaction to be tried again, or for an earlier event of their item. */
export const waitingKind = 'ReactionRun'
/** Runs of jobs, in the order in which they are due. */
export const jobKind = 'JobRun'
/** What was given up. */
export const deadKind = 'LogicDeadLetter'
/** What an operator asks for. */
export const requestKind = 'LogicRequest'

/** Dead letters are kept as long as events are by default. */
const deadKeptMs = 30 * 86_400_000

interface RunParts extends Task {
  /** `{name}/{event}` or `{name}/{key}`: what `portico reactions` shows. */
  readonly id: string
  readonly name: string
  /** How many attempts have failed. */
  readonly attempts: number
  /** By how many runs, each caused by the one before, it came to this. */
  readonly depth: number
  /** The id of its record; undefined: the log has it. */
  readonly stored: string | undefined
  /** Why the last attempt failed. */
  readonly error: string | undefined
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
  readonly input: Readonly<Record<string, JsonValue>>
  /** Its due time by the schedule; undefined: `later` has started it. */
  readonly scheduledFor: string | undefined
}

export type Run = ReactionRun | JobRun

/** The same for every attempt, whichever node makes it. */
export function idempotencyKeyOf(run: Run): string {
  const what = run.kind === 'reaction' ? [run.event, run.change.at] : [run.key]
  return createHash('sha256')
    .update(JSON.stringify([run.name, ...what]))
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

export function jobRun(given: NewJobRun, key: string = given.scheduledFor ?? randomUUID()): JobRun {
  const { name, dueAt, scheduledFor } = given
  const id = `${name}/${key}`
  // Runs by the schedule do not overlap.
  const itemKey = scheduledFor === undefined ? key : 'schedule'
  const stored = `${String(Math.max(0, dueAt)).padStart(15, '0')}/${id}`
  return { ...given, kind: 'job', id, key, itemKey, event: null, attempts: 0, stored, error: undefined }
}

/** The run at another time: its record has another id. */
export function redated(run: JobRun, dueAt: number): JobRun {
  return { ...run, stored: jobRun({ ...run, dueAt }, run.key).stored, dueAt }
}

/** What a record keeps of a run. */
type Payload = Omit<ReactionRun, 'stored'> | Omit<JobRun, 'stored'>

function payloadOf(run: Run): string {
  const { stored: _, ...payload } = run
  if (payload.kind === 'job') return JSON.stringify(payload satisfies Payload)
  // The names of changed fields are parsed when they are asked for.
  const { changed } = payload.change
  return JSON.stringify({ ...payload, change: { ...payload.change, changed } } satisfies Payload)
}

/** A text in which ids have the order of events. */
function waitingId({ name, event }: ReactionRun): string {
  return `${name}/${String(event).padStart(16, '0')}`
}

/** The run as it is once it is stored. */
export function storedRun(run: Run): Run {
  return run.kind === 'reaction' ? { ...run, stored: waitingId(run) } : run
}

function recordOf(run: Run): NewRecord {
  const key =
    run.kind === 'reaction'
      ? { kind: waitingKind, id: waitingId(run) }
      : { kind: jobKind, id: run.stored ?? '' }
  return { ...key, payload: payloadOf(run), expiresAt: null }
}

export function keyOf(run: Run): RecordKey | undefined {
  if (run.stored === undefined) return undefined
  return { kind: run.kind === 'reaction' ? waitingKind : jobKind, id: run.stored }
}

/** Stores the run. */
export function stores(run: Run): RecordChange {
  return { kind: 'put', record: recordOf(run) }
}

/** Removes what is stored of the run. */
export function removes(run: Run): readonly RecordChange[] {
  const key = keyOf(run)
  return key === undefined ? [] : [{ kind: 'delete', key }]
}

/** Keeps the run as a dead letter. `now`: in milliseconds since 1970. */
export function buries(run: Run, error: string, now: number): readonly RecordChange[] {
  const record: NewRecord = {
    kind: deadKind,
    id: run.id,
    payload: payloadOf({ ...run, error, dueAt: now }),
    expiresAt: now + deadKeptMs,
  }
  return [...removes(run), { kind: 'put', record }]
}

export function runOf({ kind: stored, id, payload }: Pick<StoredRecord, 'kind' | 'id' | 'payload'>): Run {
  const run: Payload = JSON.parse(payload)
  return { ...run, stored: stored === deadKind ? undefined : id } as Run
}

/** All records of a kind, page by page. */
export async function* recordsOf(
  records: { after(kind: string, id: string, limit: number): unknown },
  kind: string,
): AsyncGenerator<StoredRecord> {
  const pageLength = 200
  for (let last = ''; ; ) {
    const page = (await records.after(kind, last, pageLength)) as readonly StoredRecord[]
    yield* page
    last = page.at(-1)?.id ?? ''
    if (page.length < pageLength) return
  }
}
