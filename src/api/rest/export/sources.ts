/** The rows of an export, page by page, so that memory does not grow with them. */
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { ListAnswer } from '../../../engine/plan/answer.ts'
import { orderById } from '../../../engine/plan/order.ts'
import {
  allOf,
  type ListShape,
  maxListedValues,
  type PageWindow,
  type Plan,
} from '../../../engine/plan/plan.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import type { BoundList, ListTemplate } from '../query/list-template.ts'

export interface ExportPage {
  readonly rows: readonly JsonObject[]
  /** How many items were read for them, if that is more. */
  readonly examined?: number
  readonly isLast: boolean
  /** The next read continues after it; without this call, it reads the same rows again. */
  advance(): void
  /** The header `Link`, flat, of a page that the query names. */
  readonly links?: readonly string[]
}

export interface ExportSource {
  /** Whether it heeds `size`. */
  readonly isSized: boolean
  /** Whether it reads the ids of all rows before the first page. */
  readonly readsAllIds?: boolean
  /** Reads the next rows, at most `size`, as the caller may read them now. */
  next(principal: Principal, size: number): Promise<ExportPage>
}

/** The rows of a list in an order that may change while it is read. */
export const maxSortedRows = 100_000

/** Throws NOT_FOUND if the parent does not exist, or the caller may not see it. */
export function rowsOf({ text }: Pick<ListAnswer, 'text'>): readonly JsonObject[] {
  if (text === null) throw new ApiError('NOT_FOUND')
  return JSON.parse(text)
}

interface WalkShapes {
  /** By keyset: the first page, and the page after a position, whose keys are the last arguments. */
  readonly first: ListShape
  readonly after: ListShape
  /** The ids of all rows. */
  readonly ids: ListShape
  /** The rows with some ids, which are the last argument. */
  readonly some: ListShape
}

/** No field has this name. */
const idKey = ''

/** The guard and the store cache by shape. */
const shapesByTemplate = new WeakMap<ListTemplate, WalkShapes>()

/** `count`: of the arguments of the list. */
function shapesOf(template: ListTemplate, window: PageWindow, count: number): WalkShapes {
  const known = shapesByTemplate.get(template)
  if (known !== undefined) return known
  const shape: ListShape = { ...template.shape, isReadOnce: true }
  const { limit } = window
  const uncounted: PageWindow = { ...window, total: 'none' }
  const isAmong = { kind: 'compare', field: 'id', operator: 'in', param: count } as const
  const shapes: WalkShapes = {
    first: { ...shape, window: { kind: 'cursor', limit, after: undefined } },
    after: {
      ...shape,
      window: { kind: 'cursor', limit, after: shape.sort.map((_, index) => count + index) },
    },
    ids: { ...shape, window: uncounted, select: [{ kind: 'field', key: 'id', field: 'id' }] },
    some: {
      ...shape,
      window: uncounted,
      select: [{ kind: 'field', key: idKey, field: 'id' }, ...shape.select],
      sort: orderById,
      filter: shape.filter ? allOf([shape.filter, isAmong]) : isAmong,
    },
  }
  shapesByTemplate.set(template, shapes)
  return shapes
}

/** All rows of a list. `id`: of the parent, if the list has one. */
export function listSource(run: Run, { template, args }: BoundList, id: number | undefined): ExportSource {
  const { window, sort } = template.shape
  if (window.kind !== 'page') throw new TypeError('an export begins with a list by page')
  const listArgs = id === undefined ? args : [id, ...args]
  const shapes = shapesOf(template, window, listArgs.length)
  const plan = (shape: ListShape, limit: number, further: readonly JsonValue[]): Plan<ListShape> => {
    const bound = [...listArgs, ...further]
    bound[window.offset] = 0
    bound[window.limit] = limit
    return { shape, args: bound }
  }
  const isUnchanging = sort.every(({ field }) => field === 'id' || field === 'created_at')
  return isUnchanging ? new Walk(run, shapes, plan) : new SortedRows(run, shapes, plan)
}

type MakePlan = (shape: ListShape, limit: number, further: readonly JsonValue[]) => Plan<ListShape>

/** By keyset, in an order in which rows keep their place: each row that is there throughout comes once. */
class Walk implements ExportSource {
  readonly isSized = true
  readonly #run: Run
  readonly #shapes: WalkShapes
  readonly #plan: MakePlan
  #after: readonly JsonValue[] | undefined

  constructor(run: Run, shapes: WalkShapes, plan: MakePlan) {
    this.#run = run
    this.#shapes = shapes
    this.#plan = plan
  }

  async next(principal: Principal, size: number): Promise<ExportPage> {
    const { first, after } = this.#shapes
    const shape = this.#after === undefined ? first : after
    const answer = await this.#run.list(this.#plan(shape, size, this.#after ?? []), principal)
    const next = answer.next ?? undefined
    const advance = () => {
      this.#after = next
    }
    return { rows: rowsOf(answer), isLast: next === undefined, advance }
  }
}

/** The order is read first, in one snapshot, as ids; then the rows that are still among those of the list. */
class SortedRows implements ExportSource {
  readonly isSized = true
  readonly readsAllIds = true
  readonly #run: Run
  readonly #shapes: WalkShapes
  readonly #plan: MakePlan
  #ids: readonly number[] | undefined
  #done = 0

  constructor(run: Run, shapes: WalkShapes, plan: MakePlan) {
    this.#run = run
    this.#shapes = shapes
    this.#plan = plan
  }

  async next(principal: Principal, size: number): Promise<ExportPage> {
    this.#ids ??= await this.#order(principal)
    const all = this.#ids
    if (all.length === 0) return { rows: [], isLast: true, advance: () => {} }
    // In batches of as many ids as one condition takes.
    const ids = all.slice(this.#done, this.#done + Math.min(size, maxListedValues))
    const answer = await this.#run.list(this.#plan(this.#shapes.some, ids.length, [ids]), principal)
    const byId = new Map<unknown, JsonObject>()
    for (const { [idKey]: id, ...row } of rowsOf(answer)) byId.set(id, row as JsonObject)
    const end = this.#done + ids.length
    const rows = ids.map(id => byId.get(id)).filter(row => row !== undefined)
    const advance = () => {
      this.#done = end
    }
    return { rows, isLast: end >= all.length, advance }
  }

  async #order(principal: Principal): Promise<readonly number[]> {
    const answer = await this.#run.list(this.#plan(this.#shapes.ids, maxSortedRows, []), principal)
    const ids = rowsOf(answer).map(row => Number(row['id']))
    if (answer.hasMore !== true) return ids
    throw new ApiError(
      'BAD_REQUEST',
      `In this order, at most ${maxSortedRows} rows can be exported: sort by "id" or "created_at", or filter.`,
    )
  }
}
