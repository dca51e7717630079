/**
 * The cost of a service's reads, by shape. A read only increments a counter. Its query plans are examined later, one shape at
 * a time: after the shape's first run, and each time that its runs have doubled.
 */

import { type Awaitable, then } from '../../../base/awaitable.ts'
import { ApiError } from '../../../base/errors.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Model } from '../../../model/model.ts'
import type {
  AnyGuardedRead,
  GuardedDelete,
  GuardedItem,
  GuardedPlan,
  GuardedSelected,
  GuardedWrite,
} from '../../plan/guarded.ts'
import { memoised } from '../memoised.ts'
import type { Answer, GuardedReadShape } from '../read/answers.ts'
import { type Inputs, noSlots } from '../values.ts'
import type { Totals } from './facts.ts'
import {
  type Finding,
  findingOf,
  type ListResult,
  type PlannedUnit,
  type PlanReader,
  planUnits,
  returnedRows,
} from './findings.ts'
import { isSlow, type SlowList, SlowLists } from './slow-lists.ts'
import { type ListUnit, unitsOf, windowOf } from './units.ts'

export type { SlowList } from './slow-lists.ts'

export interface StatisticsOptions {
  /** Called once for each slow list. */
  readonly onSlow?: ((slow: SlowList) => void) | undefined
  /** The maximum number of rows that a list may scan, by the estimate; undefined: unlimited. */
  readonly maxScan?: number | undefined
}

/** The maximum number of shapes that wait to be examined: further ones are examined after a later run. */
const maxQueued = 20
/** The pause between two examinations, which keeps their share of the time small. */
const examinationIntervalMs = 50
/** A shape is examined again after this many runs at the latest. */
const maxRunsBetween = 10_000
/** Plans are read again when the tables have grown by this factor: the database may choose others. */
const growthFactor = 10
/** A queued read keeps its arguments and answer in memory. Reads with longer ones are not examined. */
const maxSampleCharacters = 100_000
/** Without `maxScan`, further lists of a read are not examined: a document can have hundreds. */
const maxSampledLists = 32

type AnsweredWrite = Exclude<GuardedWrite['shape'], GuardedDelete>

interface ReadSample {
  readonly shape: ShapeStatistics
  readonly inputs: Inputs
  readonly answer: Answer
}

/** The query plans of one shape. */
interface ExaminedPlans {
  readonly planned: readonly PlannedUnit[]
  /** The number of items of its collections when the plans were read. */
  readonly size: number
}

export class QueryStatistics {
  readonly slow = new SlowLists()
  readonly #model: Model
  readonly #planReader: PlanReader
  readonly #options: StatisticsOptions
  /** The statistics of a shape live as long as the shape. */
  readonly #statisticsOf = memoised((shape: GuardedReadShape) => new ShapeStatistics(shape))
  readonly #answerOf = memoised(answerOf)
  readonly #queue: ReadSample[] = []
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(model: Model, planReader: PlanReader, options: StatisticsOptions) {
    this.#model = model
    this.#planReader = planReader
    this.#options = options
  }

  get isBounded(): boolean {
    return this.#options.maxScan !== undefined
  }

  /** Must be called after each read that the database answered. */
  recordRun(plan: AnyGuardedRead, answer: Answer): void {
    const shape = this.#statisticsOf(plan.shape)
    const runs = ++shape.counter.runs
    if (runs < shape.next) return
    shape.next = runs + Math.min(runs, maxRunsBetween)
    this.#sample(shape, this.#inputs(plan), answer)
  }

  #inputs({ args, principal }: AnyGuardedRead): Inputs {
    return { args, userId: principal.userId, slots: noSlots, actor: this.#planReader.actor?.(principal) }
  }

  /** Queues the shape to be examined. */
  #sample(shape: ShapeStatistics, inputs: Inputs, answer: Answer): void {
    if (this.#isClosed || this.#queue.length >= maxQueued) return
    if (charactersOf(inputs.args) + (answer.text?.length ?? 0) > maxSampleCharacters) return
    this.#queue.push({ shape, inputs, answer })
    this.#schedule()
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.#next(), examinationIntervalMs).unref()
  }

  #next(): void {
    const sample = this.#queue.shift()
    const scheduleNext = (): void => {
      this.#timer = undefined
      if (this.#queue.length > 0 && !this.#isClosed) this.#schedule()
    }
    if (sample === undefined || this.#isClosed) {
      scheduleNext()
      return
    }
    // If the plans cannot be read now, they are read after a later run.
    Promise.resolve()
      .then(() => this.#examine(sample))
      .catch(() => {})
      .finally(scheduleNext)
  }

  #examine({ shape, inputs, answer }: ReadSample): Awaitable<void> {
    return then(this.#findings(shape, inputs, answer), findings => {
      for (const finding of findings) this.#record(finding, shape, answer)
    })
  }

  #record(finding: Finding, shape: ShapeStatistics, answer: Answer): void {
    const transport = answer.kind === 'composite' ? 'GraphQL' : 'GET'
    const slow = this.slow.record(finding, transport, shape.counter)
    if (slow !== undefined) this.#options.onSlow?.(slow)
  }

  /** The findings for each list of the shape. `answer`: refines the estimates. */
  #findings(shape: ShapeStatistics, inputs: Inputs, answer?: Answer): Awaitable<readonly Finding[]> {
    return then(this.#planReader.totals(), totals =>
      then(this.#plans(shape, inputs, totals), ({ planned }) => {
        const results = answer && resultsOf(answer, planned)
        const context = { model: this.#model, totals, args: inputs.args, results }
        return planned.map(unit => findingOf(unit, context))
      }),
    )
  }

  #plans(shape: ShapeStatistics, inputs: Inputs, totals: Totals): Awaitable<ExaminedPlans> {
    const size = sizeOf(shape.shape, totals)
    const { plans } = shape
    if (plans !== undefined && size < growthFactor * Math.max(1, plans.size)) return plans
    const units = unitsOf(shape.shape, inputs.args.length, this.isBounded ? Infinity : maxSampledLists)
    // The last argument stands for the id of a parent.
    const args: readonly JsonValue[] = [...inputs.args, 1]
    return then(planUnits(units, { ...inputs, args }, this.#planReader), planned => {
      shape.plans = { planned, size }
      return shape.plans
    })
  }

  /** See `QueryInsight.describe`. */
  describe(plan: AnyGuardedRead): Awaitable<string | undefined> {
    return then(this.#findings(this.#statisticsOf(plan.shape), this.#inputs(plan)), findings => {
      const [first, ...rest] = findings
      if (first === undefined) return undefined
      const worst = rest.reduce((a, b) => (b.scannedRows > a.scannedRows ? b : a), first)
      const index = isSlow(worst) ? worst.advice.find(advice => advice.index !== undefined)?.index : undefined
      return index === undefined ? worst.summary : `${worst.summary}; ${index}`
    })
  }

  /** Throws SCAN_TOO_LARGE if a list would scan more rows than allowed; synchronously if the plan reader is synchronous. */
  require(plan: AnyGuardedRead): Awaitable<void> {
    const { maxScan } = this.#options
    if (maxScan === undefined) return
    const shape = this.#statisticsOf(plan.shape)
    const inputs = this.#inputs(plan)
    return then(this.#planReader.totals(), totals => {
      const size = sizeOf(shape.shape, totals)
      const windows = windowsOf(shape, inputs)
      if (windows !== undefined && shape.accepted?.size === size && shape.accepted.windows === windows) return
      return this.#requireUnderLimit(shape, inputs, maxScan, size)
    })
  }

  #requireUnderLimit(shape: ShapeStatistics, inputs: Inputs, maxScan: number, size: number): Awaitable<void> {
    return then(this.#findings(shape, inputs), findings => {
      // The number of rows that a search finds is not known in advance.
      const finding = findings.find(
        ({ scannedRows, estimate }) => scannedRows > maxScan && !estimate.searches,
      )
      if (finding === undefined) {
        shape.accepted = { size, windows: windowsOf(shape, inputs) ?? '' }
        return
      }
      const transport = shape.shape.kind === 'composite' ? 'GraphQL' : 'GET'
      const slow = this.slow.record(finding, transport, shape.counter, true)
      if (slow !== undefined) this.#options.onSlow?.(slow)
      throw scanTooLarge(finding, maxScan)
    })
  }

  /** As `require`, for the lists that a write's answer selects. */
  requireAnswer({ shape, args, principal }: GuardedWrite): Awaitable<void> {
    if (!this.isBounded || shape.kind === 'delete') return
    const selected = this.#answerOf(shape)
    if (selected.reads.length === 0) return
    return this.require({ shape: selected, args, principal } as GuardedPlan<GuardedItem>)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }
}

/** The answer to a write as a read of its item. Only the lists in it matter: `reads` has their collections. */
function answerOf({ collection, rows, select }: AnsweredWrite): GuardedItem {
  const reads = [...new Set(listedCollections(select))]
  const properties = { reads, personal: true, volatile: true, readsUnboundedLists: true }
  return { kind: 'item', collection, id: 0, rows, select, ...properties }
}

function listedCollections(select: readonly GuardedSelected[]): readonly string[] {
  return select.flatMap(selected => {
    if (selected.kind !== 'relation') return []
    const { list, path, select: nested } = selected
    return [...(list === undefined ? [] : [path.target.name]), ...listedCollections(nested)]
  })
}

/** Without the estimate, which counts rows that the client cannot read. */
function scanTooLarge({ path }: Finding, maxScan: number): ApiError {
  return new ApiError(
    'SCAN_TOO_LARGE',
    `The list ${path} would read more than ${maxScan} rows, which is the limit. Omit its sort or its filter, sort by "id", or filter by a relation or a unique field.`,
  )
}

/** The limits and offsets of a shape's lists, as a key; undefined before its plans were read. */
function windowsOf({ plans }: ShapeStatistics, { args }: Inputs): string | undefined {
  if (plans === undefined) return undefined
  return plans.planned
    .map(({ unit: { list, outerLimits } }) => {
      const { limit, offset } = windowOf(list, args)
      return [limit, offset, ...outerLimits.map(param => args[param])].join()
    })
    .join(';')
}

function charactersOf(args: readonly JsonValue[]): number {
  let characters = 0
  for (const arg of args) {
    if (typeof arg === 'string') characters += arg.length
    else if (Array.isArray(arg)) characters += charactersOf(arg)
  }
  return characters
}

function sizeOf({ reads }: GuardedReadShape, totals: Totals): number {
  return reads.reduce((sum, collection) => sum + totals.of(collection), 0)
}

function resultsOf(answer: Answer, planned: readonly PlannedUnit[]): Map<ListUnit, ListResult> | undefined {
  const { text } = answer
  if (text === null) return undefined
  const parsed: unknown = JSON.parse(text)
  const total = answer.kind === 'list' ? answer.total : undefined
  const results = new Map<ListUnit, ListResult>()
  for (const { unit } of planned) {
    const rows = returnedRows(parsed, unit)
    if (rows !== undefined) results.set(unit, { rows, total: unit.keys.length === 0 ? total : undefined })
  }
  return results
}

class ShapeStatistics {
  readonly shape: GuardedReadShape
  /** A separate object: the slow lists keep it, and must not keep the shape from garbage collection. */
  readonly counter = { runs: 0 }
  /** The number of runs at which the shape is examined again. */
  next = 1
  plans: ExaminedPlans | undefined
  /** The last sizes and windows that `require` accepted. */
  accepted: { readonly size: number; readonly windows: string } | undefined

  constructor(shape: GuardedReadShape) {
    this.shape = shape
  }
}
