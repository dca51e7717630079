/**
 * What the reads of a service cost, by shape. A read itself only increments a counter: plans are examined afterwards, one
 * shape at a time, first after the shape's first run, then each time that its runs have doubled.
 */
import { ApiError } from '../../errors.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Model } from '../../model/model.ts'
import { type Awaitable, then } from '../../plan/answer.ts'
import type { GuardedCompositeRead, GuardedRead } from '../../plan/guarded.ts'
import { once } from '../once.ts'
import type { Answer, ReadShape } from '../read/answers.ts'
import { type Inputs, noSlots } from '../values.ts'
import type { Totals } from './facts.ts'
import {
  type Explainer,
  type Finding,
  findingOf,
  type Given,
  givenRows,
  type PlannedUnit,
  planUnits,
} from './look.ts'
import { isSlow, type SlowList, SlowLists } from './slow-lists.ts'
import { type ListUnit, unitsOf, windowOf } from './units.ts'

export type { SlowList } from './slow-lists.ts'

export interface StatisticsOptions {
  /** Called once for each slow list. */
  readonly onSlow?: ((slow: SlowList) => void) | undefined
  /** The most rows that a list may scan, by the estimate; undefined: any number. */
  readonly maxScan?: number | undefined
}

type AnyRead = GuardedRead | GuardedCompositeRead

/** How many shapes may wait to be examined: further ones are examined when they run again. */
const maxQueued = 20
/** The pause between two examinations, in milliseconds, so that they take no noticeable part of the time. */
const lookIntervalMs = 50
/** A shape is examined again after this many runs at the latest. */
const maxRunsBetween = 10_000
/** After a table has grown by this factor, the database may choose another plan. */
const growthFactor = 10
/** A queued read keeps its arguments and answer in memory. Reads with longer ones are not examined. */
const maxSampleCharacters = 100_000

interface Sample {
  readonly shape: ShapeStatistics
  readonly inputs: Inputs
  readonly answer: Answer
}

/** What is known of one shape. */
interface Known {
  readonly planned: readonly PlannedUnit[]
  /** How many items the collections had when the plans were examined. */
  readonly size: number
}

export class QueryStatistics {
  readonly slow = new SlowLists()
  readonly #model: Model
  readonly #explainer: Explainer
  readonly #options: StatisticsOptions
  /** It lives as long as the shape. */
  readonly #shape = once((shape: ReadShape) => new ShapeStatistics(shape))
  readonly #queue: Sample[] = []
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(model: Model, explainer: Explainer, options: StatisticsOptions) {
    this.#model = model
    this.#explainer = explainer
    this.#options = options
  }

  get isBounded(): boolean {
    return this.#options.maxScan !== undefined
  }

  /** To be called after each read that the database answered. */
  ran(plan: AnyRead, answer: Answer): void {
    const shape = this.#shape(plan.shape)
    const runs = ++shape.counter.runs
    if (runs < shape.next) return
    shape.next = runs + Math.min(runs, maxRunsBetween)
    this.#sample(shape, this.#inputs(plan), answer)
  }

  #inputs({ args, principal }: AnyRead): Inputs {
    return { args, userId: principal.userId, slots: noSlots, actor: this.#explainer.actor?.(principal) }
  }

  /** Queues the shape to be examined. */
  #sample(shape: ShapeStatistics, inputs: Inputs, answer: Answer): void {
    if (this.#isClosed || this.#queue.length >= maxQueued) return
    if (charactersOf(inputs.args) + (answer.text?.length ?? 0) > maxSampleCharacters) return
    this.#queue.push({ shape, inputs, answer })
    this.#schedule()
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.#next(), lookIntervalMs).unref()
  }

  #next(): void {
    const sample = this.#queue.shift()
    const over = (): void => {
      this.#timer = undefined
      if (this.#queue.length > 0 && !this.#isClosed) this.#schedule()
    }
    if (sample === undefined || this.#isClosed) {
      over()
      return
    }
    // A read that cannot be explained now is explained when it has run again.
    Promise.resolve()
      .then(() => this.#look(sample))
      .catch(() => {})
      .finally(over)
  }

  #look({ shape, inputs, answer }: Sample): Awaitable<void> {
    return then(this.#findings(shape, inputs, answer), findings => {
      for (const finding of findings) this.#note(finding, shape, answer)
    })
  }

  #note(finding: Finding, shape: ShapeStatistics, answer: Answer): void {
    const transport = answer.kind === 'composite' ? 'GraphQL' : 'GET'
    const told = this.slow.note(finding, transport, shape.counter)
    if (told !== undefined) this.#options.onSlow?.(told)
  }

  /** What each list of the shape scans now. `answer`: refines the estimates where it is given. */
  #findings(shape: ShapeStatistics, inputs: Inputs, answer?: Answer): Awaitable<readonly Finding[]> {
    return then(this.#explainer.totals(), totals =>
      then(this.#known(shape, inputs, totals), ({ planned }) => {
        const given = answer && givenBy(answer, planned)
        const seen = { model: this.#model, totals, args: inputs.args, given }
        return planned.map(unit => findingOf(unit, seen))
      }),
    )
  }

  #known(shape: ShapeStatistics, inputs: Inputs, totals: Totals): Awaitable<Known> {
    const size = sizeOf(shape.shape, totals)
    const { known } = shape
    if (known !== undefined && size < growthFactor * Math.max(1, known.size)) return known
    const units = unitsOf(shape.shape, inputs.args.length)
    // The last one stands for the id of a parent.
    const args: readonly JsonValue[] = [...inputs.args, 1]
    return then(planUnits(units, { ...inputs, args }, this.#explainer), planned => {
      shape.known = { planned, size }
      return shape.known
    })
  }

  /** See `QueryInsight.describe`. */
  describe(plan: AnyRead): Awaitable<string | undefined> {
    return then(this.#findings(this.#shape(plan.shape), this.#inputs(plan)), findings => {
      const [first, ...rest] = findings
      if (first === undefined) return undefined
      const worst = rest.reduce((a, b) => (b.looked > a.looked ? b : a), first)
      const index = isSlow(worst) ? worst.advice.find(each => each.index !== undefined)?.index : undefined
      return index === undefined ? worst.does : `${worst.does}; ${index}`
    })
  }

  /** Throws SCAN_TOO_LARGE where a list would scan more rows than allowed; synchronously where the explainer is. */
  require(plan: AnyRead): Awaitable<void> {
    const { maxScan } = this.#options
    if (maxScan === undefined) return
    const shape = this.#shape(plan.shape)
    const inputs = this.#inputs(plan)
    return then(this.#explainer.totals(), totals => {
      const size = sizeOf(shape.shape, totals)
      const windows = windowsOf(shape, inputs)
      if (windows !== undefined && shape.passed?.size === size && shape.passed.windows === windows) return
      return this.#requireAnew(shape, inputs, maxScan, size)
    })
  }

  #requireAnew(shape: ShapeStatistics, inputs: Inputs, maxScan: number, size: number): Awaitable<void> {
    return then(this.#findings(shape, inputs), findings => {
      // How many rows a search finds is not known in advance.
      const over = findings.find(({ looked, estimate }) => looked > maxScan && !estimate.searches)
      if (over === undefined) {
        shape.passed = { size, windows: windowsOf(shape, inputs) ?? '' }
        return
      }
      const transport = shape.shape.kind === 'composite' ? 'GraphQL' : 'GET'
      const told = this.slow.note(over, transport, shape.counter, true)
      if (told !== undefined) this.#options.onSlow?.(told)
      throw tooLarge(over, maxScan)
    })
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }
}

function tooLarge({ words, looked }: Finding, maxScan: number): ApiError {
  return new ApiError(
    'SCAN_TOO_LARGE',
    `The list ${words} would look at about ${looked} rows, and at most ${maxScan} are allowed. Leave out its sort or its filter, sort by "id", or filter by a relation or a unique field.`,
  )
}

/** The limits and offsets of a shape's lists, as a key; undefined: its lists are not known yet. */
function windowsOf({ known }: ShapeStatistics, { args }: Inputs): string | undefined {
  if (known === undefined) return undefined
  return known.planned
    .map(({ unit: { list, around } }) => {
      const { limit, offset } = windowOf(list, args)
      return [limit, offset, ...around.map(param => args[param])].join()
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

function sizeOf({ reads }: ReadShape, totals: Totals): number {
  return reads.reduce((sum, collection) => sum + totals.of(collection), 0)
}

function givenBy(answer: Answer, planned: readonly PlannedUnit[]): Map<ListUnit, Given> | undefined {
  const { text } = answer
  if (text === null) return undefined
  const parsed: unknown = JSON.parse(text)
  const total = answer.kind === 'list' ? answer.total : undefined
  const given = new Map<ListUnit, Given>()
  for (const { unit } of planned) {
    const rows = givenRows(parsed, unit)
    if (rows !== undefined) given.set(unit, { rows, total: unit.keys.length === 0 ? total : undefined })
  }
  return given
}

/** What is known and counted of one shape. */
class ShapeStatistics {
  readonly shape: ReadShape
  /** How often the database was asked. On its own: the list of slow lists keeps it, and must not keep the shape. */
  readonly counter = { runs: 0 }
  /** At how many runs the shape is examined again. */
  next = 1
  known: Known | undefined
  /** The last sizes and windows that passed `require`. */
  passed: { readonly size: number; readonly windows: string } | undefined

  constructor(shape: ReadShape) {
    this.shape = shape
  }
}
