/** Examines the query plan of each list of a read: the number of rows that it visits, and the advice that would reduce it. */

import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { Principal } from '../../../base/principal.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Model } from '../../../model/model.ts'
import type { GuardedList } from '../../plan/guarded.ts'
import { estimatePlan, type PlanEstimate, skewFactor } from '../plans/estimate.ts'
import { eachAccess, type PlanStep } from '../plans/steps.ts'
import type { Actor, Inputs } from '../values.ts'
import { type Advice, adviceFor, deepOffset } from './advice.ts'
import { factsOf, type Totals } from './facts.ts'
import { type ListUnit, windowOf } from './units.ts'

/** The database's query plan of one list. */
export interface ListPlan {
  readonly steps: readonly PlanStep[]
  /** The table behind each alias. */
  readonly tables: ReadonlyMap<string, string>
}

/** Reads query plans and table sizes from a database. */
export interface PlanReader {
  /** The plan of the statement that finds the list's rows, without its selection. */
  explain(unit: Pick<ListUnit, 'list' | 'aggregate'>, inputs: Inputs): Awaitable<ListPlan>
  /** The caller of a statement, if the database has row security. */
  actor?(principal: Principal): Actor | undefined
  /** The number of items of each collection; it may be some seconds old. */
  totals(): Awaitable<Totals>
}

/** One list of a read, with its plan. */
export interface PlannedUnit {
  readonly unit: ListUnit
  readonly plan: ListPlan
}

/** The rows that a list scans each time that the database answers its read, and the advice. */
export interface Finding {
  /** In REST, without values. */
  readonly path: string
  /** Whether it is slow only because of its offset: other requests of the shape are not. */
  readonly isDeep: boolean
  readonly estimate: PlanEstimate
  /** The estimated number of rows that it scans. */
  readonly scannedRows: number
  /** The maximum number of rows that it returns. */
  readonly limit: number
  /** The number of rows that it returned when it was examined; `limit` if that is unknown. */
  readonly returnedRows: number
  /** A summary of the plan, e.g. `scans about 100000 posts`. */
  readonly summary: string
  readonly indexes: readonly string[]
  readonly advice: readonly Advice[]
}

export function planUnits(
  units: readonly ListUnit[],
  inputs: Inputs,
  planReader: PlanReader,
): Awaitable<readonly PlannedUnit[]> {
  const planned: PlannedUnit[] = []
  let previous: Awaitable<unknown>
  for (const unit of units) {
    previous = then(previous, () =>
      then(planReader.explain(unit, inputs), plan => planned.push({ unit, plan })),
    )
  }
  return then(previous, () => planned)
}

/** The result of one list. */
export interface ListResult {
  readonly rows: number
  /** The number of rows that match, if the client requested it. */
  readonly total: number | undefined
}

interface ListContext {
  readonly model: Model
  readonly totals: Totals
  readonly args: readonly JsonValue[]
  /** The results of the lists, if the read was answered. */
  readonly results?: ReadonlyMap<ListUnit, ListResult> | undefined
}

/** The rows that one list scans, by its plan and the current totals. */
export function findingOf(
  { unit, plan }: PlannedUnit,
  { model, totals, args, results }: ListContext,
): Finding {
  const { list } = unit
  const { limit, offset } = windowOf(list, args)
  const runs = unit.outerLimits.reduce((product, param) => product * Math.max(1, Number(args[param] ?? 1)), 1)
  const take = unit.aggregate === undefined ? limit + offset : Number.MAX_SAFE_INTEGER
  const facts = factsOf({ model, totals, list, tables: plan.tables, take })
  const estimate = estimatePlan(plan.steps, facts)
  const result = results?.get(unit)
  const isAggregate = unit.aggregate !== undefined
  const rowsPerRun = isAggregate
    ? estimate.expected
    : correctedRows(estimate, take, result !== undefined && result.rows < limit, result)
  const rowsOnce = Math.min(rowsPerRun, estimate.expectedOnce)
  const scannedRows = Math.round((rowsPerRun - rowsOnce) * runs + rowsOnce)
  const isDeep = !isAggregate && offset >= deepOffset && estimate.bounded
  return {
    path: isDeep ? `${unit.path}${unit.path.includes('?') ? '&' : '?'}page=…` : unit.path,
    isDeep,
    estimate,
    scannedRows,
    limit: limit * runs,
    returnedRows: result?.rows ?? limit * runs,
    summary: planSummary(plan, estimate, scannedRows, list),
    indexes: indexesOf(plan),
    advice: adviceFor({ model, list, estimate, offset }),
  }
}

/** The estimate, corrected by the rows that the list returned. `take`: limit and offset together. */
function correctedRows(
  { most, expected, walks, searches }: PlanEstimate,
  take: number,
  isComplete: boolean,
  result: ListResult | undefined,
): number {
  if (result === undefined) return expected
  // A search visits only the rows that match.
  if (searches) return Math.min(expected, result.total ?? (isComplete ? result.rows : expected))
  if (!walks) return expected
  // A list that returned fewer rows than its limit has scanned everything.
  if (isComplete) return most
  return result.total === undefined ? expected : Math.min(expected, (skewFactor * take * most) / result.total)
}

function planSummary(
  plan: ListPlan,
  estimate: PlanEstimate,
  rows: number,
  { collection }: GuardedList,
): string {
  const rowsText = `about ${rows} ${collection.name}`
  if (estimate.searches) return `searches ${rowsText}`
  if (estimate.bounded) return `reads ${rowsText}`
  if (scansTable(plan)) return `scans ${rowsText}`
  return estimate.sorts === 'none' ? `reads ${rowsText}` : `sorts ${rowsText}`
}

function scansTable({ steps }: ListPlan): boolean {
  let hasScan = false
  eachAccess(steps, ({ access, table }) => {
    if (access === 'scan' && table === 't0') hasScan = true
  })
  return hasScan
}

function indexesOf({ steps }: ListPlan): readonly string[] {
  const indexes = new Set<string>()
  eachAccess(steps, ({ index }) => {
    if (index !== undefined && index !== 'rowid') indexes.add(index)
  })
  return [...indexes]
}

/** The number of items of a unit's list in a parsed answer; undefined for a list that runs several times. */
export function returnedRows(parsed: unknown, { keys, outerLimits }: ListUnit): number | undefined {
  if (outerLimits.length > 0) return undefined
  let value = parsed
  for (const key of keys) value = isRecord(value) ? value[key] : undefined
  return Array.isArray(value) ? value.length : undefined
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
