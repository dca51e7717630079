/** Looks at the plan of each list of a read: how many rows it visits, and what would make these fewer. */
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

/** The database's own plan of one list. */
export interface ListPlan {
  readonly steps: readonly PlanStep[]
  /** The table behind each alias. */
  readonly tables: ReadonlyMap<string, string>
}

/** What a database tells of itself. */
export interface Explainer {
  /** The plan of the list's rows, without what is selected of them. */
  explain(unit: Pick<ListUnit, 'list' | 'aggregate'>, inputs: Inputs): Awaitable<ListPlan>
  /** On whose behalf a statement runs, where the database wants to know. */
  actor?(principal: Principal): Actor | undefined
  /** How many items each collection has, at least as new as some seconds ago. */
  totals(): Awaitable<Totals>
}

/** One list of a read, with its plan. */
export interface PlannedUnit {
  readonly unit: ListUnit
  readonly plan: ListPlan
}

/** What a list of a read looks at, each time that the read is answered. */
export interface Finding {
  /** In the words of REST, without values. */
  readonly words: string
  /** Whether it is slow only for its offset, which other requests of the shape do not have. */
  readonly isDeep: boolean
  readonly estimate: PlanEstimate
  /** Rows looked at, by the averages. */
  readonly looked: number
  /** The most rows that it gives. */
  readonly asked: number
  /** What it gave when it was looked at; `asked` where that is not known. */
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

/** What one list gave. */
export interface Given {
  readonly rows: number
  /** How many rows match in all, where that was asked. */
  readonly total: number | undefined
}

interface Seen {
  readonly model: Model
  readonly totals: Totals
  readonly args: readonly JsonValue[]
  /** What lists gave in an answer. */
  readonly given?: ReadonlyMap<ListUnit, Given> | undefined
}

/** What one list looks at, by its plan and the totals of now. */
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

/** What an answer shows of the rows that were looked at. `take`: limit and offset together. */
function corrected(
  { most, expected, walks, searches }: PlanEstimate,
  take: number,
  isEnded: boolean,
  seen: Given | undefined,
): number {
  if (seen === undefined) return expected
  // Only as many rows as match are found.
  if (searches) return Math.min(expected, seen.total ?? (isEnded ? seen.rows : expected))
  if (!walks) return expected
  // One that gave fewer rows than it might have has come to the end of what it walks through.
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

/** How many items a unit's list has in an answer that was parsed; undefined: it cannot be told. */
export function givenRows(parsed: unknown, { keys, around }: ListUnit): number | undefined {
  if (around.length > 0) return undefined
  let value = parsed
  for (const key of keys) value = isRecord(value) ? value[key] : undefined
  return Array.isArray(value) ? value.length : undefined
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
