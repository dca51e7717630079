/** Waiting runs and dead letters as operators see them, and the requests to retry or skip them. */
import { ApiError } from '../../base/errors.ts'
import { type Records, recordsOf } from '../../base/records.ts'
import { deadKind, jobKind, type LogicRun, runOf, waitingId, waitingKind } from '../../engine/logic/run.ts'
import type { JsonObject } from '../../model/fields/type.ts'
import { type RunAction, requestRecord } from './requests.ts'

export type RunState = 'waiting' | 'dead'

export interface ShownRun {
  /** `{name}/{event}` of a reaction, `{name}/{key}` of a job. */
  readonly id: string
  readonly name: string
  readonly kind: LogicRun['kind']
  readonly state: RunState
  /** The event of a reaction; null for a job, like the next three. */
  readonly event: string | null
  readonly type: string | null
  readonly collection: string | null
  readonly item_id: number | null
  /** The input of a job; null for a reaction. */
  readonly input: JsonObject | null
  /** The number of failed attempts. */
  readonly attempts: number
  /** When the run is tried next; for a dead letter, when it was given up. ISO 8601 UTC. */
  readonly at: string
  readonly error: string | null
}

/** The last run of a page: the index of its kind in `kinds`, and the id of its record. */
interface PagePosition {
  readonly kind: number
  readonly record: string
}

interface RunPageOptions {
  /** Undefined: both. */
  readonly state?: RunState | undefined
  readonly limit: number
  /** `next_after` of the previous page. */
  readonly after?: string | undefined
}

export interface RunPage {
  readonly data: readonly ShownRun[]
  readonly meta: { readonly next_after: string | null }
}

/** Dead letters are listed first. */
const kinds = [
  [deadKind, 'dead'],
  [waitingKind, 'waiting'],
  [jobKind, 'waiting'],
] as const

type RunRecords = Pick<Records, 'get' | 'after' | 'put'>

export class RunView {
  readonly #records: RunRecords

  constructor(records: RunRecords) {
    this.#records = records
  }

  /** Throws BAD_REQUEST for a malformed `after`. */
  async page({ state, limit, after }: RunPageOptions): Promise<RunPage> {
    const start = after === undefined ? { kind: 0, record: '' } : positionOf(after)
    const data: ShownRun[] = []
    let last: string | null = null
    for (const [kindIndex, [kind, kindState]] of kinds.entries()) {
      if (kindIndex < start.kind || (state !== undefined && state !== kindState)) continue
      const from = kindIndex === start.kind ? start.record : ''
      const records = await this.#records.after(kind, from, limit - data.length + 1)
      for (const record of records) {
        if (data.length === limit) return { data, meta: { next_after: last } }
        data.push(shownRun(runOf(record), kindState))
        last = textOf({ kind: kindIndex, record: record.id })
      }
    }
    return { data, meta: { next_after: null } }
  }

  /** Stores requests that the service carries out within a second. Throws NOT_FOUND, and stores none, if a run does not exist. */
  async request(action: RunAction, ids: readonly string[]): Promise<void> {
    const uniqueIds = new Set(ids)
    const missing = await this.#missing(uniqueIds)
    if (missing !== undefined) throw new ApiError('NOT_FOUND', `There is no waiting or dead run ${missing}.`)
    for (const id of uniqueIds) await this.#records.put(requestRecord(action, id))
  }

  /** The first id that does not exist. Runs of jobs are stored by due time, so they are all scanned, once. */
  async #missing(ids: ReadonlySet<string>): Promise<string | undefined> {
    const unknown = new Set<string>()
    for (const id of ids) if (!(await this.#exists(id))) unknown.add(id)
    if (unknown.size === 0) return undefined
    for await (const record of recordsOf(this.#records, jobKind)) {
      unknown.delete(runOf(record).id)
      if (unknown.size === 0) return undefined
    }
    return [...unknown][0]
  }

  async #exists(id: string): Promise<boolean> {
    if (id.includes('\0')) return false
    if ((await this.#records.get(deadKind, id)) !== undefined) return true
    return (await this.#records.get(waitingKind, waitingId(id))) !== undefined
  }
}

function shownRun(run: LogicRun, state: RunState): ShownRun {
  const { id, name, kind, attempts, dueAt, error = null } = run
  const at = new Date(dueAt).toISOString()
  const change = run.kind === 'reaction' ? run.change : undefined
  return {
    ...{ id, name, kind, state },
    event: change === undefined ? null : String(change.event),
    type: change?.type ?? null,
    collection: change?.collection ?? null,
    item_id: change?.id ?? null,
    input: run.kind === 'job' ? run.input : null,
    ...{ attempts, at, error },
  }
}

function textOf({ kind, record }: PagePosition): string {
  return Buffer.from(JSON.stringify([kind, record])).toString('base64url')
}

function positionOf(text: string): PagePosition {
  try {
    const [kind, record]: unknown[] = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (kind === 0 || kind === 1 || kind === 2) {
      // PostgreSQL refuses U+0000 in a text.
      if (typeof record === 'string' && !record.includes('\0')) return { kind, record }
    }
  } catch {
    // The error below.
  }
  throw new ApiError('BAD_REQUEST', 'The parameter "after" must be the `next_after` of a page.')
}
