/** The arguments of list fields → which rows are asked for. */
import type { Collection } from '../model/model.ts'
import { cursorsOf, effectiveSort } from '../plan/cursor.ts'
import type { Param, Selected, SelectedList, Sort } from '../plan/plan.ts'
import { rankFault } from '../plan/rank.ts'
import { searchFault } from '../plan/text-search.ts'
import { type Asked, argumentsOf, type Planning, pickOf } from './asked.ts'
import { planFilter, planSort } from './filter.ts'
import type { Input } from './input.ts'
import { badRequest, type Cost, getterOf, given, limitOf, located } from './parameters.ts'
import type { Picked } from './picked.ts'
import { scanCost } from './scan-cost.ts'

export interface PlannedList {
  readonly list: SelectedList
  readonly select: readonly Selected[]
  readonly picked: Picked
  readonly cost: Cost
}

export function planList(planning: Planning, asked: Asked, target: Collection): PlannedList {
  const inputs = argumentsOf(planning, asked)
  const limit = limitOf('limit', given(inputs.get('limit')), standardLimit(asked), planning.listBound)
  const pick = pickOf(asked)
  const rows = planRows(planning, target, inputs)
  const after = planPosition(planning, target, rows.sort, given(inputs.get('after')))
  const list = { ...rows, ...(after ? { after } : {}), limit: planning.parameters.add(limit) }
  const inner = planning.select(planning, target, asked.nodes, pick.at)
  const { model } = planning.ground
  const scan = scanCost(rows, { model, target, inner: !isRoot(asked), counted: false })
  return {
    list,
    select: inner.select,
    picked: { ...pick, kind: 'list', children: inner.picked },
    cost: variables => scan + limit(variables) * (1 + inner.cost(variables)),
  }
}

/** Whether the list is one out of a whole collection. */
export function isRoot({ parent }: Asked): boolean {
  return parent.name === 'Query'
}

function standardLimit({ definition }: Asked): number {
  return Number(definition.args.find(argument => argument.name === 'limit')?.default?.value ?? 0)
}

/** Which rows, and in what order. */
export function planRows(
  { ground, parameters, variables }: Planning,
  target: Collection,
  inputs: ReadonlyMap<string, Input>,
): { readonly filter: SelectedList['filter']; readonly sort: readonly Sort[]; readonly search?: Param } {
  const filter = given(inputs.get('filter'))
  const search = given(inputs.get('search'))
  const order = given(inputs.get('orderBy'))
  const sort = planSort(order, variables)
  const fault = rankFault(sort, search !== undefined)
  if (order && fault !== undefined) throw badRequest(`The order RELEVANCE ${fault}.`, order.node)
  return {
    filter: filter && planFilter(filter, target, ground, parameters),
    sort,
    ...(search ? { search: parameters.add(getterOf(search, searchedText)) } : {}),
  }
}

function searchedText(value: unknown): string {
  const text = String(value)
  if (text.includes('\0')) throw new RangeError('The text holds U+0000, which no stored text has.')
  const fault = searchFault(text)
  if (!fault) return text
  throw new RangeError(`The search ${fault.message}.`)
}

/** The position that a cursor stands for: one parameter per sort key. */
export function planPosition(
  { parameters }: Planning,
  target: Collection,
  sort: readonly Sort[],
  cursor: Input | undefined,
): readonly Param[] | undefined {
  if (cursor?.kind !== 'leaf') return undefined
  const { node, read } = cursor
  const cursors = cursorsOf(target, sort)
  return effectiveSort(sort).map((_, index) =>
    parameters.add(variables => located(node, () => cursors.decode(String(read(variables)))[index]) ?? null),
  )
}
