/** Examines the plan of each list of a read: how many rows it visits, and what would reduce them. */
import type { JsonValue } from '../../model/fields/type.ts'
import type { Model } from '../../model/model.ts'
import { type Awaitable, then } from '../../plan/answer.ts'
import type { GuardedList } from '../../plan/guarded.ts'
import type { Principal } from '../../principal.ts'
import { estimatePlan, type PlanEstimate, walkMargin } from '../plans/estimate.ts'
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

/** What the statistics need from a database. */
export interface Explainer {
  /** The plan for finding the list's rows, without what is selected of them. */
  explain(unit: Pick<ListUnit, 'list' | 'aggregate'>, inputs: Inputs): Awaitable<ListPlan>
  /** On whose behalf a statement runs, where the database has row security. */
  actor?(principal: Principal): Actor | undefined
  /** How many items each collection has; may be some seconds old. */
  totals(): Awaitable<Totals>
}

/** One list of a read, with its plan. */
export interface PlannedUnit {
  readonly unit: ListUnit
  readonly plan: ListPlan
}

/** What a list of a read scans each time that the database answers the read. */
export interface Finding {
  /** In the words of REST, without values. */
  readonly words: string
  /** Whether it is slow only because of its offset, which other requests of the shape do not have. */
  readonly isDeep: boolean
  readonly estimate: PlanEstimate
  /** The estimated rows that it scans. */
  readonly looked: number
  /** The most rows that it can return. */
  readonly asked: number
  /** How many rows it returned when it was examined; `asked` where that is not known. */
  readonly given: number
  /** What the plan does, e.g. `scans about 100000 posts`. */
  readonly does: string
  readonly indexes: readonly string[]
  readonly advice: readonly Advice[]
}

export function planUnits(
  units: readonly ListUnit[],
  inputs: Inputs,
  explainer: Explainer,
): Awaitable<readonly PlannedUnit[]> {
  let planned: Awaitable<readonly PlannedUnit[]> = []
  for (const unit of units) {
    planned = then(planned, before =>
      then(explainer.explain(unit, inputs), plan => [...before, { unit, plan }]),
    )
  }
  return planned
}

/** What one list returned. */
export interface Given {
  readonly rows: number
  /** How many rows match in total, where that was requested. */
  readonly total: number | undefined
}

interface Seen {
  readonly model: Model
  readonly totals: Totals
  readonly args: readonly JsonValue[]
  /** What the lists of an answer returned. */
  readonly given?: ReadonlyMap<ListUnit, Given> | undefined
}

/** What one list scans, by its plan and the current totals. */
export function findingOf({ unit, plan }: PlannedUnit, { model, totals, args, given }: Seen): Finding {
  const { list } = unit
  const { limit, offset } = windowOf(list, args)
  const around = unit.around.reduce((times, param) => times * Math.max(1, Number(args[param] ?? 1)), 1)
  const take = unit.aggregate === undefined ? limit + offset : Number.MAX_SAFE_INTEGER
  const facts = factsOf({ model, totals, list, tables: plan.tables, take })
  const estimate = estimatePlan(plan.steps, facts)
  const seen = given?.get(unit)
  const isAggregate = unit.aggregate !== undefined
  const once = isAggregate
    ? estimate.expected
    : corrected(estimate, take, seen !== undefined && seen.rows < limit, seen)
  const isDeep = !isAggregate && offset >= deepOffset && estimate.bounded
  return {
    words: isDeep ? `${unit.words}${unit.words.includes('?') ? '&' : '?'}page=…` : unit.words,
    isDeep,
    estimate,
    looked: Math.round(once * around),
    asked: limit * around,
    given: seen?.rows ?? limit * around,
    does: doing(plan, estimate, Math.round(once * around), list),
    indexes: indexesOf(plan),
    advice: adviceFor({ model, list, estimate, offset }),
  }
}

/** The estimate, corrected by what an answer shows. `take`: limit and offset together. */
function corrected(
  { most, expected, walks, searches }: PlanEstimate,
  take: number,
  isEnded: boolean,
  seen: Given | undefined,
): number {
  if (seen === undefined) return expected
  // A search finds only the rows that match.
  if (searches) return Math.min(expected, seen.total ?? (isEnded ? seen.rows : expected))
  if (!walks) return expected
  // A list that returned fewer rows than its limit has scanned everything.
  if (isEnded) return most
  return seen.total === undefined ? expected : Math.min(expected, (walkMargin * take * most) / seen.total)
}

function doing(plan: ListPlan, estimate: PlanEstimate, rows: number, { collection }: GuardedList): string {
  const about = `about ${rows} ${collection.name}`
  if (estimate.searches) return `searches ${about}`
  if (estimate.bounded) return `reads ${about}`
  if (scansOwn(plan)) return `scans ${about}`
  return estimate.sorts === 'none' ? `reads ${about}` : `sorts ${about}`
}

function scansOwn({ steps }: ListPlan): boolean {
  let scans = false
  eachAccess(steps, ({ access, table }) => {
    if (access === 'scan' && table === 't0') scans = true
  })
  return scans
}

function indexesOf({ steps }: ListPlan): readonly string[] {
  const found = new Set<string>()
  eachAccess(steps, ({ index }) => {
    if (index !== undefined && index !== 'rowid') found.add(index)
  })
  return [...found]
}

/** How many items a unit's list has in a parsed answer; undefined where that is unclear. */
export function givenRows(parsed: unknown, { keys, around }: ListUnit): number | undefined {
  if (around.length > 0) return undefined
  let value = parsed
  for (const key of keys) value = isRecord(value) ? value[key] : undefined
  return Array.isArray(value) ? value.length : undefined
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
