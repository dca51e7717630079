/** A list field → which rows the plan reads, and in which order. */

import { cursorsOf } from '../../../engine/plan/cursor.ts'
import { type TotalOrder, totalOrder } from '../../../engine/plan/order.ts'
import type { Param, Selected, SelectedList } from '../../../engine/plan/plan.ts'
import { rankFault } from '../../../engine/plan/rank.ts'
import { searchFault } from '../../../engine/plan/text-search.ts'
import type { Collection } from '../../../model/model.ts'
import { badRequest } from '../bad-request.ts'
import { scanCost } from '../limits/scan-cost.ts'
import { argumentsOf, type FieldRequest, replyFieldBase } from './field-request.ts'
import { planFilter, planSort } from './filter.ts'
import type { Input } from './input.ts'
import { type Cost, createGetter, limitOf, unlessNull, withLocation } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'
import type { ReplyField } from './reply-fields.ts'

export interface PlannedList {
  readonly list: SelectedList
  readonly select: readonly Selected[]
  readonly replyField: ReplyField
  readonly cost: Cost
}

export type PlannedRows = Pick<SelectedList, 'filter' | 'sort' | 'search' | 'after'>

export function planList(context: PlanContext, request: FieldRequest, target: Collection): PlannedList {
  const inputs = argumentsOf(context, request)
  const base = replyFieldBase(request)
  const limit = limitOf('limit', inputs.get('limit'), schemaDefault(request), context.listBound)
  const rows = planRows(context, target, inputs, inputs.get('after'))
  const list = { ...rows, limit: context.parameters.add(limit) }
  const selection = context.select(context, target, request.nodes, base.place)
  const { model } = context
  const scan = scanCost(rows, { model, target, isOfRelation: !isRoot(request), countsTotal: false })
  return {
    list,
    select: selection.select,
    replyField: { ...base, kind: 'list', children: selection.replyFields },
    cost: variables => scan + limit(variables) * (1 + selection.cost(variables)),
  }
}

/** Whether the list is of a whole collection, and not of an item's relation. */
export function isRoot({ parent }: FieldRequest): boolean {
  return parent.name === 'Query'
}

/** The default of the argument `limit`. */
export function schemaDefault({ definition }: FieldRequest): number {
  return Number(definition.args.find(argument => argument.name === 'limit')?.default?.value ?? 0)
}

/** `cursor`: the cursor of the item after which the rows begin. */
export function planRows(
  context: PlanContext,
  target: Collection,
  inputs: ReadonlyMap<string, Input>,
  cursor: Input | undefined,
): PlannedRows {
  const filter = unlessNull(inputs.get('filter'))
  const search = unlessNull(inputs.get('search'))
  const order = unlessNull(inputs.get('orderBy'))
  const sort = totalOrder(planSort(order, context.variables))
  const fault = rankFault(sort, search !== undefined)
  if (order && fault !== undefined) throw badRequest(`The order RELEVANCE ${fault}.`, order.node)
  const plannedFilter = filter && planFilter(filter, target, context)
  const searchParam = search && context.parameters.add(createGetter(search, parseSearch))
  const after = planPosition(context, target, sort, cursor)
  return {
    filter: plannedFilter,
    sort,
    ...(searchParam === undefined ? {} : { search: searchParam }),
    ...(after ? { after } : {}),
  }
}

function parseSearch(value: unknown): string {
  const text = String(value)
  if (text.includes('\0'))
    throw new RangeError('The text contains U+0000, which stored texts cannot contain.')
  const fault = searchFault(text)
  if (!fault) return text
  throw new RangeError(`The search ${fault.message}.`)
}

/** The position that a cursor encodes: one parameter for each sort key. */
function planPosition(
  { parameters }: PlanContext,
  target: Collection,
  sort: TotalOrder,
  cursor: Input | undefined,
): readonly Param[] | undefined {
  if (cursor?.kind !== 'leaf') return undefined
  const { node, read } = cursor
  const cursors = cursorsOf(target, sort)
  return sort.map((_, index) =>
    parameters.add(
      variables => withLocation(node, () => cursors.decode(String(read(variables)))[index]) ?? null,
    ),
  )
}
