/**
 * Prunes the log by age and by size: always the oldest events, a few in each step. The steps are the same on every
 * database.
 */
import { type Sql, slot, sql } from '../sql/writer.ts'
import { noInputs, type ResultRow, type ResultRows, type SqlValue, slotInputs } from '../values.ts'
import type { QuerySteps } from '../write/steps.ts'
import { basesSql, lowestHoldSql } from './keys.ts'
import { bytesSql } from './logged-change.ts'

export interface Retention {
  /** How long events are kept, in milliseconds. 30 days by default. */
  readonly maxAgeMs: number
  /** The approximate size that the log may have, in bytes. 1 GiB by default. */
  readonly maxBytes: number
  /** How often to check for events to prune while nothing is written, in milliseconds. A minute by default. */
  readonly idleMs: number
}

const dayMs = 24 * 60 * 60 * 1000

export function retentionOf({ maxAgeMs, maxBytes, idleMs }: Partial<Retention> = {}): Retention {
  return { maxAgeMs: maxAgeMs ?? 30 * dayMs, maxBytes: maxBytes ?? 1024 ** 3, idleMs: idleMs ?? 60_000 }
}

/** How many events one step prunes, so that no write waits long. */
export const rowsPerPrune = 500
const bytesPerPrune = 4 * 1024 * 1024

/** How many rows the estimate of the log's size samples. */
const sampleSize = 32

/** The statements that find the events to prune. */
export const pruneSql = {
  /** The lowest hold, the bases, and the number and time of the oldest event. */
  state: sql`SELECT ${lowestHoldSql}, ${basesSql}, (SELECT min("id") FROM "_events"), (SELECT "at" FROM "_events" ORDER BY "id" LIMIT 1)`,
  /** The first and the last event number in a range. Slots: its exclusive start and its inclusive end. */
  extent: sql`SELECT (SELECT min("id") FROM "_events" WHERE "id" > CAST(${slot(0)} AS bigint)), (SELECT max("id") FROM "_events" WHERE "id" <= CAST(${slot(1)} AS bigint))`,
  /** The average size of rows at equal distances. Slots: the first number, the distance. */
  sample: sql`SELECT avg("bytes") FROM (WITH RECURSIVE "p" ("i") AS (SELECT 0 UNION ALL SELECT "i" + 1 FROM "p" WHERE "i" < ${[String(sampleSize - 1)]}) SELECT (SELECT ${bytesSql} FROM "_events" WHERE "id" >= CAST(${slot(0)} AS bigint) + "i" * CAST(${slot(1)} AS bigint) ORDER BY "id" LIMIT 1) AS "bytes" FROM "p") AS "sampled"`,
  /** The oldest events, each with its time and size. */
  oldest: (limit: Sql): Sql =>
    sql`SELECT "id", "at", ${bytesSql} FROM "_events" ORDER BY "id" LIMIT ${limit}`,
} as const

export interface PruneStatements<S> {
  readonly state: S
  readonly extent: S
  readonly sample: S
  readonly oldest: S
  /** Gives the number up to which no later commit can add an event. Undefined where none can add an event in between. */
  readonly settled: S | undefined
  /**
   * Delete the events up to `bySize`, and those up to `byAge` that are not held; raise the stored pruned number. The first
   * statement returns a row for each deleted event.
   */
  readonly prune: readonly S[]
}

/** The extent of the log. */
export interface LogExtent {
  /** The numbers of the oldest and the newest event; 0 where the log is empty. */
  readonly oldest: number
  readonly newest: number
  /** The estimated size of the events: their number times the average size of a sample. */
  readonly bytes: number
}

/** The events to prune next. */
export interface Prunable {
  /** Events up to this number are pruned although they may be held; 0: none. */
  readonly bySize: number
  /** Events up to this number are pruned unless they are held; 0: none. */
  readonly byAge: number
}

export interface PruningState {
  readonly extent: LogExtent
  readonly prunable: Prunable | undefined
}

const lastNumber = Number.MAX_SAFE_INTEGER
const emptyLog: PruningState = { extent: { oldest: 0, newest: 0, bytes: 0 }, prunable: undefined }

/** Finds the events to prune. `now`: in milliseconds. */
export function* inspectLog<S>(
  statements: PruneStatements<S>,
  { maxAgeMs, maxBytes }: Retention,
  now: number,
): QuerySteps<S, PruningState> {
  const [state] = yield [{ statement: statements.state, inputs: noInputs }]
  const [hold, bases, oldest, at] = state?.[0] ?? []
  if (oldest === null || oldest === undefined) return emptyLog
  const extent = yield* extentOf(statements, parseBases(bases))
  const limits = {
    before: new Date(now - maxAgeMs).toISOString(),
    hold: hold === null ? lastNumber : Number(hold),
    excessBytes: extent.bytes - maxBytes,
  }
  const isOld = String(at) < limits.before && Number(oldest) <= limits.hold
  if (!isOld && limits.excessBytes <= 0) return { extent, prunable: undefined }
  // The order matters: an event that is uncommitted when the rows are read has a number above `settled`, or is committed in between.
  const [rows = [], settledRows] = yield [
    { statement: statements.oldest, inputs: slotInputs([rowsPerPrune]) },
    statements.settled && { statement: statements.settled, inputs: noInputs },
  ]
  const settled = settledRows?.[0]?.[0]
  return { extent, prunable: prunableOf(rows, limits, typeof settled === 'number' ? settled : lastNumber) }
}

/** Within a transaction. Returns how many events it has deleted. */
export function* prune<S>(
  statements: PruneStatements<S>,
  { bySize, byAge }: Prunable,
): QuerySteps<S, number> {
  const inputs = slotInputs([bySize, byAge])
  const [deleted] = yield statements.prune.map(statement => ({ statement, inputs }))
  return deleted?.length ?? 0
}

/** The numbers above which the log continued after restored backups. */
export function parseBases(text: SqlValue | undefined): readonly number[] {
  return typeof text === 'string' ? JSON.parse(text) : []
}

interface PruneLimits {
  /** Events before this time are pruned: ISO 8601 UTC. */
  readonly before: string
  /** The lowest hold: no reader needs events up to this number. */
  readonly hold: number
  /** By how much the log exceeds its maximum size. */
  readonly excessBytes: number
}

export function prunableOf(
  rows: ResultRows,
  { before, hold, excessBytes }: PruneLimits,
  settled: number,
): Prunable | undefined {
  let [bySize, byAge, bytes] = [0, 0, 0]
  for (const [id, at, rowBytes] of rows) {
    const number = Number(id)
    const exceedsSize = bytes < excessBytes
    const isOld = String(at) < before && number <= hold
    if (number > settled || (!exceedsSize && !isOld) || bytes >= bytesPerPrune) break
    if (exceedsSize) bySize = number
    if (isOld) byAge = number
    bytes += Number(rowBytes)
  }
  return bySize === 0 && byAge === 0 ? undefined : { bySize, byAge }
}

function* extentOf<S>(statements: PruneStatements<S>, bases: readonly number[]): QuerySteps<S, LogExtent> {
  const bounds = [-1, ...bases]
  const ranges = yield bounds.map((after, index) => ({
    statement: statements.extent,
    inputs: slotInputs([after, bounds[index + 1] ?? lastNumber]),
  }))
  const extents = ranges.map(rangeOf).filter(({ first, last }) => first !== 0 && first <= last)
  const sampleRows = yield extents.map(({ first, last }) => ({
    statement: statements.sample,
    inputs: slotInputs([first, Math.max(1, Math.floor((last - first + 1) / sampleSize))]),
  }))
  const bytes = extents.map(
    ({ first, last }, index) => (last - first + 1) * Number(sampleRows[index]?.[0]?.[0] ?? 0),
  )
  return {
    oldest: extents[0]?.first ?? 0,
    newest: extents.at(-1)?.last ?? 0,
    bytes: Math.round(bytes.reduce((sum, size) => sum + size, 0)),
  }
}

function rangeOf(rows: ResultRows): { readonly first: number; readonly last: number } {
  const [first, last]: ResultRow = rows[0] ?? []
  return { first: Number(first ?? 0), last: Number(last ?? 0) }
}
