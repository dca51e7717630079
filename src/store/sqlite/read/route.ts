/** Where a read runs: on the event loop as it is, there within a budget of time, or in a reader process. */
import type {
  Condition,
  GuardedAggregate,
  GuardedAggregateRoot,
  GuardedComposite,
  GuardedRoot,
  GuardedSelected,
  GuardedSort,
} from '../../../plan/guarded.ts'
import type { Param } from '../../../plan/plan.ts'
import { estimatePlan } from '../../plans/estimate.ts'
import type { PlanAccess, PlanBlock, PlanStep } from '../../plans/steps.ts'
import type { ReadShape } from '../../read/answers.ts'
import { isCounted, isWholeById } from '../../read/known-lists.ts'
import { cursorSlice } from '../../read/lists.ts'
import { fromStart } from '../../read/pages.ts'
import { aggregateSql } from '../../sql/aggregate.ts'
import { compositeSql } from '../../sql/composite.ts'
import { estimateSql } from '../../sql/estimate.ts'
import { countSql, itemSql, listSql, parentSql } from '../../sql/read.ts'
import { sqlite } from '../../sql/sqlite.ts'
import { arg, type Sql } from '../../sql/writer.ts'
import type { Inputs } from '../../values.ts'
import type { Connection } from '../connection.ts'
import { parsePlan, tablesByAlias } from './query-plan.ts'
import { relatedForm } from './related-rows.ts'
import type { Totals } from './totals.ts'

/** `budgeted`: on the event loop until its budget is spent. */
export type Route = 'inline' | 'budgeted' | 'pool'

/** Rows of a table beyond which to read all of it is nothing for the event loop: 2 to 5 ms. */
const wholeTableRows = 5000
/** Rows that the nested lists of one read may have together before it is watched. */
const watchedRows = 1000
/** Rows that a deep page may skip from the nearest anchor: by id alone they take a tenth of others. */
const skippedRows = 20_000
const skippedRowsById = 100_000
/** The largest page, and the largest offset that is no deep page. */
const take = 300
/** After a read that was too slow, the shape's reads go to the pool until so many were quick there. */
const quickInTurn = 2
const quickMs = 1.5

/** What is known of one shape's reads. */
export class ShapeRoute {
  /** Where the plan alone decides. */
  readonly #planned: PlannedRoute
  readonly #limits: readonly (readonly Param[])[]
  readonly #skippable: number
  readonly #isBudgeted: boolean
  #slowLeft = 0

  /** `isBudgeted`: whether a read may begin on the event loop that is not surely quick. */
  constructor(shape: ReadShape, planned: PlannedRoute, isBudgeted: boolean) {
    this.#planned = planned
    this.#isBudgeted = isBudgeted
    this.#limits =
      shape.kind === 'composite' ? shape.roots.flatMap(rootLimits) : selectLimits(selectOf(shape))
    this.#skippable = isBudgeted
      ? shape.kind === 'list' && isWholeById(shape)
        ? skippedRowsById
        : skippedRows
      : 0
  }

  /** Whether a read of the shape can be anything but quick. `isPaged`: whether it can be of a deep page. */
  canBeSlow(isPaged: boolean): boolean {
    return isPaged || this.#limits.length > 0 || this.#planned() !== 'inline'
  }

  /** `skipped`: how many rows a deep page begins after the nearest anchor. */
  of({ args }: Inputs, skipped: number): Route {
    if (skipped > this.#skippable) return 'pool'
    const route = this.#planned()
    if (route === 'pool') return 'pool'
    if (route === 'inline' && rowsAtMost(this.#limits, args) <= watchedRows) return 'inline'
    return this.#slowLeft > 0 || !this.#isBudgeted ? 'pool' : 'budgeted'
  }

  /** Its budget on the event loop was spent. */
  overran(): void {
    this.#slowLeft = quickInTurn
  }

  /** How much processor time a read of it took in the pool, in milliseconds. */
  took(ms: number): void {
    this.#slowLeft = ms > quickMs ? quickInTurn : Math.max(0, this.#slowLeft - 1)
  }
}

function selectOf(shape: Exclude<ReadShape, GuardedComposite>): readonly GuardedSelected[] {
  return shape.kind === 'aggregate' ? [] : shape.select
}

type PlannedRoute = () => Route

interface PlanContext {
  readonly connection: Connection
  readonly totals: Totals
  readonly walkedRows: number
}

type Counts = boolean | 'groups'

interface StatementPlan {
  readonly steps: readonly PlanStep[]
  /** Whether it counts rows, or those of each group. */
  readonly counts: Counts
  rowsOf(table: string): number | undefined
}

/** Looks at the plans once. What they say of whole tables counts while these are large. */
export function plannedRoute(shape: ReadShape, context: PlanContext): PlannedRoute {
  const plans = statementsOf(shape, context).map(({ fragment, counts }) => planOf(fragment, counts, context))
  const filtered = () => isFiltered(shape)
  const isBounded = plans.every(({ steps, rowsOf, counts }) => {
    const facts = {
      rowsOf,
      take: counts ? undefined : take,
      filtered,
      counts: counts !== false || shape.counts || isComposite(shape),
    }
    return estimatePlan(steps, facts).bounded
  })
  if (isBounded) return () => 'inline'
  const whole = plans.flatMap(({ steps, counts, rowsOf }) =>
    wholeScans(steps, counts).map(table => () => rowsOf(table) ?? 0),
  )
  if (whole.length === 0) return () => 'budgeted'
  return () => (whole.some(rows => rows() > wholeTableRows) ? 'pool' : 'budgeted')
}

function planOf(fragment: Sql, counts: Counts, { connection, totals }: PlanContext): StatementPlan {
  const { text, rows } = connection.explain(fragment)
  const tables = tablesByAlias(text)
  const rowsOf = (table: string): number | undefined => {
    const stored = tables.get(table) ?? table
    if (stored === 'json_each') return undefined
    return totals.of(stored.replace(/^_search_/, ''))
  }
  return { steps: parsePlan(rows), counts, rowsOf }
}

/** The tables that are read whole whatever the parameters are: sorted, or counted row by row. */
function wholeScans(steps: readonly PlanStep[], counts: Counts): string[] {
  const sorts = steps.some(step => step.kind === 'tree' && step.lastTerms === undefined)
  const own = sorts || counts ? steps.flatMap(step => (isScan(step) ? [step.table] : [])) : []
  const outputs = steps.flatMap(step => (step.kind === 'block' && step.name !== undefined ? [step.name] : []))
  const within = (step: PlanBlock) => counts === 'groups' && step.block === 'rows'
  const inner = steps.flatMap(step => (step.kind === 'block' ? wholeScans(step.steps, within(step)) : []))
  return [...own.filter(table => !outputs.includes(table)), ...inner]
}

function isScan(step: PlanStep): step is PlanAccess {
  return step.kind === 'access' && step.access === 'scan'
}

function statementsOf(
  shape: ReadShape,
  context: PlanContext,
): readonly { readonly fragment: Sql; readonly counts: Counts }[] {
  const plain = (fragment: Sql) => ({ fragment, counts: false })
  if (shape.kind === 'item') return [plain(itemSql(shape, sqlite))]
  if (shape.kind === 'composite') {
    // What a composite says of its limits holds for lists, and not for what is aggregated.
    const aggregates = shape.roots.flatMap(root =>
      root.kind === 'aggregate' ? aggregateAlone(root, shape) : [],
    )
    return [plain(compositeSql(shape, sqlite)), ...aggregates.map(each => groupsOf(each, context))]
  }
  if (shape.kind === 'aggregate') {
    const { within } = shape
    return [groupsOf(shape, context), ...(within ? [plain(parentSql(within, sqlite))] : [])]
  }
  const { window, within } = shape
  const slice =
    window.kind === 'page'
      ? fromStart(window, arg(window.offset), sqlite)
      : cursorSlice(shape, window, sqlite)
  const related = relatedForm(shape, context)
  const statements = [plain(listSql(shape, { ...slice, related }, sqlite))]
  if (within !== undefined) statements.push(plain(parentSql(within, sqlite)))
  if (isCounted(shape)) {
    const isEstimate = window.kind === 'page' && window.total === 'estimate'
    const fragment = (isEstimate ? estimateSql : countSql)(shape, sqlite, related)
    statements.push({ fragment, counts: true })
  }
  return statements
}

function groupsOf(shape: GuardedAggregate, context: PlanContext) {
  return { fragment: aggregateSql(shape, sqlite, relatedForm(shape, context)), counts: 'groups' as const }
}

/** A root as a read of its own. */
function aggregateAlone(
  { collection, rows, aggregation }: GuardedAggregateRoot,
  { reads, personal, volatile, counts }: GuardedComposite,
): GuardedAggregate {
  const within = undefined
  return { kind: 'aggregate', collection, within, rows, aggregation, reads, personal, volatile, counts }
}

function isComposite({ kind }: ReadShape): boolean {
  return kind === 'composite'
}

/** Whether a list of the shape may leave out rows that it has looked at. */
function isFiltered(shape: ReadShape): boolean {
  if (shape.kind === 'item') return selectFilters(shape.select)
  if (shape.kind === 'aggregate') return isCondition(shape.rows)
  if (shape.kind === 'composite') return shape.roots.some(rootFilters)
  const { window, sort, rows, select } = shape
  const after = window.kind === 'cursor' ? window.after : undefined
  return isCondition(rows) || isFilter(after, sort) || selectFilters(select)
}

function rootFilters(root: GuardedRoot): boolean {
  if (isCondition(root.rows) || root.kind === 'aggregate') return true
  if (selectFilters(root.select)) return true
  return root.kind === 'list' && isFilter(root.list.after, root.list.sort)
}

/** A position in several keys: rows that are equal in the first of them may stand before it. */
function isFilter(after: readonly Param[] | undefined, sort: readonly GuardedSort[]): boolean {
  return after !== undefined && sort.length > 1
}

function isCondition({ kind }: Condition): boolean {
  return kind !== 'always'
}

function selectFilters(select: readonly GuardedSelected[]): boolean {
  return select.some(each => {
    if (each.kind !== 'relation') return false
    const { list } = each
    return (
      isCondition(each.rows) ||
      selectFilters(each.select) ||
      (list && isFilter(list.after, list.sort)) === true
    )
  })
}

function rootLimits(root: GuardedRoot): (readonly Param[])[] {
  if (root.kind === 'aggregate') return []
  return root.kind === 'item' ? selectLimits(root.select) : listLimits(root.list.limit, root.select)
}

/** For each list of a selection, the limits of the lists around it and its own. */
function selectLimits(select: readonly GuardedSelected[]): (readonly Param[])[] {
  return select.flatMap(each => {
    if (each.kind !== 'relation') return []
    return each.list === undefined ? selectLimits(each.select) : listLimits(each.list.limit, each.select)
  })
}

function listLimits(limit: Param, select: readonly GuardedSelected[]): (readonly Param[])[] {
  return [[limit], ...selectLimits(select).map(inner => [limit, ...inner])]
}

/** How many rows the nested lists can have together. */
function rowsAtMost(limits: readonly (readonly Param[])[], args: Inputs['args']): number {
  let rows = 0
  for (const chain of limits) {
    let each = 1
    for (const param of chain) each *= Number(args[param])
    rows += each
  }
  return rows
}
