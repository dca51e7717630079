/** Decides where a read runs: on the event loop, there with limited time, or in a reader process. */
import type {
  GuardedAggregate,
  GuardedAggregateRoot,
  GuardedComposite,
  GuardedRoot,
  GuardedSelected,
} from '../../../plan/guarded.ts'
import type { Condition, GuardedSort } from '../../../plan/guarded-conditions.ts'
import type { Param } from '../../../plan/plan.ts'
import { estimatePlan } from '../../plans/estimate.ts'
import type { PlanAccess, PlanBlock, PlanStep } from '../../plans/steps.ts'
import type { GuardedReadShape } from '../../read/answers.ts'
import { isCounted, isWholeById } from '../../read/list-cache.ts'
import { cursorSlice } from '../../read/lists.ts'
import { fromStart } from '../../read/pages.ts'
import { aggregateSql } from '../../sql/aggregate.ts'
import { compositeSql } from '../../sql/composite.ts'
import { estimateSql } from '../../sql/estimate.ts'
import { countSql, itemSql, listSql, parentSql } from '../../sql/read.ts'
import { sqlite } from '../../sql/sqlite.ts'
import { arg, type Sql } from '../../sql/writer.ts'
import type { Inputs } from '../../values.ts'
import type { InlineContext } from './inline-statement.ts'
import { parsePlan, tablesByAlias } from './query-plan.ts'
import { relatedForm } from './related-rows.ts'

/** `budgeted`: on the event loop until its time budget is spent. */
export type Route = 'inline' | 'budgeted' | 'pool'

/** Tables with more rows are not scanned on the event loop. Scanning this many rows takes 2 to 5 ms. */
const wholeTableRows = 5000
/** The number of rows of all nested lists of one read, beyond which its time is limited. */
const maxInlineRows = 1000
/** How many rows a deep page may skip after the nearest anchor. Skipping rows by id alone takes a tenth of the time. */
const maxSkippedRows = 20_000
const maxSkippedRowsById = 100_000
/** The size of the largest page plus the largest offset of a page that is not deep. */
const maxTakenRows = 300
/** After a read that was too slow, the shape's reads run in the pool until this many of them were fast there. */
const fastReadsToReturn = 2
const fastReadMs = 1.5

/** The route of the reads of one shape. */
export class ShapeRoute {
  /** The route by the query plan alone. */
  readonly #planned: PlannedRoute
  readonly #limits: readonly (readonly Param[])[]
  readonly #maxSkipped: number
  readonly #isBudgeted: boolean
  #slowLeft = 0

  /** `isBudgeted`: whether a read that may be slow starts on the event loop. */
  constructor(shape: GuardedReadShape, planned: PlannedRoute, isBudgeted: boolean) {
    this.#planned = planned
    this.#isBudgeted = isBudgeted
    this.#limits =
      shape.kind === 'composite' ? shape.roots.flatMap(rootLimits) : selectLimits(selectOf(shape))
    this.#maxSkipped = isBudgeted
      ? shape.kind === 'list' && isWholeById(shape)
        ? maxSkippedRowsById
        : maxSkippedRows
      : 0
  }

  /** Whether reads of the shape may be slow. `isPaged`: whether the shape has pages by number, which may be deep. */
  canBeSlow(isPaged: boolean): boolean {
    return isPaged || this.#limits.length > 0 || this.#planned() !== 'inline'
  }

  /** `skipped`: how many rows a deep page skips after the nearest anchor. */
  choose({ args }: Inputs, skipped: number): Route {
    if (skipped > this.#maxSkipped) return 'pool'
    const route = this.#planned()
    if (route === 'pool') return 'pool'
    if (route === 'inline' && maxRows(this.#limits, args) <= maxInlineRows) return 'inline'
    return this.#slowLeft > 0 || !this.#isBudgeted ? 'pool' : 'budgeted'
  }

  /** A read has spent its budget on the event loop. */
  recordOverrun(): void {
    this.#slowLeft = fastReadsToReturn
  }

  /** A read has run in the pool. `ms`: its processor time. */
  recordPoolRead(ms: number): void {
    this.#slowLeft = ms > fastReadMs ? fastReadsToReturn : Math.max(0, this.#slowLeft - 1)
  }
}

function selectOf(shape: Exclude<GuardedReadShape, GuardedComposite>): readonly GuardedSelected[] {
  return shape.kind === 'aggregate' ? [] : shape.select
}

type PlannedRoute = () => Route

type CountKind = boolean | 'groups'

interface StatementPlan {
  readonly steps: readonly PlanStep[]
  /** Whether it counts rows, or those of each group. */
  readonly counts: CountKind
  rowsOf(table: string): number | undefined
}

/** Reads the query plans once. A scan of a whole table matters only while the table is large. */
export function plannedRoute(shape: GuardedReadShape, context: InlineContext): PlannedRoute {
  const plans = statementsOf(shape, context).map(({ fragment, counts }) => planOf(fragment, counts, context))
  const filtered = () => isFiltered(shape)
  const isBounded = plans.every(({ steps, rowsOf, counts }) => {
    const facts = {
      rowsOf,
      take: counts ? undefined : maxTakenRows,
      filtered,
      counts: counts !== false || shape.readsUnboundedLists || isComposite(shape),
    }
    return estimatePlan(steps, facts).bounded
  })
  if (isBounded) return () => 'inline'
  const scanSizes = plans.flatMap(({ steps, counts, rowsOf }) =>
    scannedTables(steps, counts).map(table => () => rowsOf(table) ?? 0),
  )
  if (scanSizes.length === 0) return () => 'budgeted'
  return () => (scanSizes.some(rows => rows() > wholeTableRows) ? 'pool' : 'budgeted')
}

function planOf(fragment: Sql, counts: CountKind, { connection, totals }: InlineContext): StatementPlan {
  const { text, rows } = connection.explain(fragment)
  const tables = tablesByAlias(text)
  const rowsOf = (table: string): number | undefined => {
    const tableName = tables.get(table) ?? table
    if (tableName === 'json_each') return undefined
    return totals.of(tableName.replace(/^_search_/, ''))
  }
  return { steps: parsePlan(rows), counts, rowsOf }
}

/** The tables that are scanned whatever the parameters are, since their rows are sorted or counted. */
function scannedTables(steps: readonly PlanStep[], counts: CountKind): string[] {
  const sorts = steps.some(step => step.kind === 'tree' && step.lastTerms === undefined)
  const ownScans = sorts || counts ? steps.flatMap(step => (isScan(step) ? [step.table] : [])) : []
  const outputs = steps.flatMap(step => (step.kind === 'block' && step.name !== undefined ? [step.name] : []))
  const innerCounts = (step: PlanBlock) => counts === 'groups' && step.block === 'rows'
  const innerScans = steps.flatMap(step =>
    step.kind === 'block' ? scannedTables(step.steps, innerCounts(step)) : [],
  )
  return [...ownScans.filter(table => !outputs.includes(table)), ...innerScans]
}

function isScan(step: PlanStep): step is PlanAccess {
  return step.kind === 'access' && step.access === 'scan'
}

function statementsOf(
  shape: GuardedReadShape,
  context: InlineContext,
): readonly { readonly fragment: Sql; readonly counts: CountKind }[] {
  const withoutCount = (fragment: Sql) => ({ fragment, counts: false })
  if (shape.kind === 'item') return [withoutCount(itemSql(shape, sqlite))]
  if (shape.kind === 'composite') {
    // The limits of a composite apply to its lists, not to its aggregates.
    const aggregates = shape.roots.flatMap(root =>
      root.kind === 'aggregate' ? asAggregate(root, shape) : [],
    )
    return [
      withoutCount(compositeSql(shape, sqlite)),
      ...aggregates.map(aggregate => groupsOf(aggregate, context)),
    ]
  }
  if (shape.kind === 'aggregate') {
    const { within } = shape
    return [groupsOf(shape, context), ...(within ? [withoutCount(parentSql(within, sqlite))] : [])]
  }
  const { window, within } = shape
  const slice =
    window.kind === 'page'
      ? fromStart(window, arg(window.offset), sqlite)
      : cursorSlice(shape, window, sqlite)
  const related = relatedForm(shape, context)
  const statements = [withoutCount(listSql(shape, { ...slice, related }, sqlite))]
  if (within !== undefined) statements.push(withoutCount(parentSql(within, sqlite)))
  if (isCounted(shape)) {
    const isEstimate = window.kind === 'page' && window.total === 'estimate'
    const fragment = (isEstimate ? estimateSql : countSql)(shape, sqlite, related)
    statements.push({ fragment, counts: true })
  }
  return statements
}

function groupsOf(shape: GuardedAggregate, context: InlineContext) {
  return { fragment: aggregateSql(shape, sqlite, relatedForm(shape, context)), counts: 'groups' as const }
}

/** An aggregate root as a separate read. */
function asAggregate(
  { collection, rows, aggregation }: GuardedAggregateRoot,
  { reads, personal, volatile, readsUnboundedLists }: GuardedComposite,
): GuardedAggregate {
  const within = undefined
  return {
    kind: 'aggregate',
    collection,
    within,
    rows,
    aggregation,
    reads,
    personal,
    volatile,
    readsUnboundedLists,
  }
}

function isComposite({ kind }: GuardedReadShape): boolean {
  return kind === 'composite'
}

/** Whether a list of the shape may visit rows that it does not return. */
function isFiltered(shape: GuardedReadShape): boolean {
  if (shape.kind === 'item') return isSelectionFiltered(shape.select)
  if (shape.kind === 'aggregate') return isCondition(shape.rows)
  if (shape.kind === 'composite') return shape.roots.some(isRootFiltered)
  const { window, sort, rows, select } = shape
  const after = window.kind === 'cursor' ? window.after : undefined
  return isCondition(rows) || isKeysetFilter(after, sort) || isSelectionFiltered(select)
}

function isRootFiltered(root: GuardedRoot): boolean {
  if (isCondition(root.rows) || root.kind === 'aggregate') return true
  if (isSelectionFiltered(root.select)) return true
  return root.kind === 'list' && isKeysetFilter(root.list.after, root.list.sort)
}

/** A keyset of several keys: rows before it may have the same first key. */
function isKeysetFilter(after: readonly Param[] | undefined, sort: readonly GuardedSort[]): boolean {
  return after !== undefined && sort.length > 1
}

function isCondition({ kind }: Condition): boolean {
  return kind !== 'always'
}

function isSelectionFiltered(select: readonly GuardedSelected[]): boolean {
  return select.some(selected => {
    if (selected.kind !== 'relation') return false
    const { list } = selected
    return (
      isCondition(selected.rows) ||
      isSelectionFiltered(selected.select) ||
      (list && isKeysetFilter(list.after, list.sort)) === true
    )
  })
}

function rootLimits(root: GuardedRoot): (readonly Param[])[] {
  if (root.kind === 'aggregate') return []
  return root.kind === 'item' ? selectLimits(root.select) : listLimits(root.list.limit, root.select)
}

/** For each list of a selection, its own limit and those of the lists around it. */
function selectLimits(select: readonly GuardedSelected[]): (readonly Param[])[] {
  return select.flatMap(selected => {
    if (selected.kind !== 'relation') return []
    const { list, select: nested } = selected
    return list === undefined ? selectLimits(nested) : listLimits(list.limit, nested)
  })
}

function listLimits(limit: Param, select: readonly GuardedSelected[]): (readonly Param[])[] {
  return [[limit], ...selectLimits(select).map(inner => [limit, ...inner])]
}

/** The maximum number of rows of all nested lists. */
function maxRows(limits: readonly (readonly Param[])[], args: Inputs['args']): number {
  let rows = 0
  for (const chain of limits) {
    let product = 1
    for (const param of chain) product *= Number(args[param])
    rows += product
  }
  return rows
}
