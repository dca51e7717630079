/**
 * The parameters of a list → a plan. The names of the parameters, and the names in `sort`, `fields` and `include`,
 * determine the plan's shape. A shape is created once and cached; further queries of the same shape differ only in their
 * arguments.
 */

import { cursorsOf } from '../../../engine/plan/cursor.ts'
import { namedField, quoted } from '../../../engine/plan/names.ts'
import type { Sort } from '../../../engine/plan/order.ts'
import {
  includedLimit,
  type ListShape,
  lastPage,
  type Param,
  type TotalMode,
  totalModes,
} from '../../../engine/plan/plan.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Field } from '../../../model/model.ts'
import { parseId } from '../path-id.ts'
import { makePresentation, type Presentation } from '../reply/headers.ts'
import type { CollectionView, ListScope } from './collection-view.ts'
import { parseFilterName, parseFilterValue, parseSearch } from './filter.ts'
import type { BoundList, FilterTemplate, ListTemplate } from './list-template.ts'
import {
  namesKey,
  type Parameter,
  parameterFault,
  parseQuery,
  requireValue,
  unknownParameter,
} from './query-string.ts'
import { Conditions } from './related-filters.ts'
import { makeSelection, type Selection } from './select.ts'
import { parseSort } from './sort.ts'

export const defaultPerPage = 20
export const maxPerPage = 100

/** Parameters whose values, not only their names, determine the shape. */
const structural = new Set(['sort', 'fields', 'include'])
const totalModeNames: readonly string[] = totalModes
const paging = new Set(['page', 'per_page', 'cursor'])
/** A shape is determined by names alone, or `*`. */
const namesOnly = /^[A-Za-z0-9_,.*-]+$/

/** How a list is paged: by page number, by cursor from the start, or after a cursor. */
type Paging = 'page' | 'first' | 'after'

function pagingOf(parameters: readonly Parameter[]): Paging {
  const cursor = valueFor(parameters, 'cursor')
  if (cursor === undefined) return 'page'
  if (valueFor(parameters, 'page') !== undefined) {
    throw parameterFault(
      'page',
      'excluded',
      'The parameters "page" and "cursor" exclude each other: send one of them.',
    )
  }
  return cursor === '' ? 'first' : 'after'
}

/** Whether the parameter is `total`. In a collection with a field of that name, it is a filter instead. */
function isTotal(view: CollectionView, name: string): boolean {
  return name === 'total' && namedField(view, name) === undefined
}

function totalOf(view: CollectionView, kind: Paging, parameters: readonly Parameter[]): TotalMode {
  const parameter = parameters.find(({ name }) => isTotal(view, name))
  if (parameter === undefined) return 'exact'
  requireValue(parameter)
  const mode = totalModes.find(candidate => candidate === parameter.value)
  if (mode === undefined) {
    const message = `The parameter "total" must be one of ${totalModes.join(', ')}, not ${quoted(parameter.value)}.`
    throw parameterFault('total', 'wrong_type', message)
  }
  if (kind !== 'page' && mode !== 'none') {
    const message = 'A list by "cursor" has no total: omit the parameter "total", or use `total=none`.'
    throw parameterFault('total', 'excluded', message)
  }
  return mode
}

function shapeKeyOf(parameter: Parameter): string {
  const { name, value } = parameter
  // If it is a filter, this creates up to three unnecessary shapes: one for each value that is the name of a mode.
  if (name === 'total' && totalModeNames.includes(value)) return `total=${value}`
  return structural.has(name) ? namesKey(parameter, namesOnly) : JSON.stringify(name)
}

export function valueFor(parameters: readonly Parameter[], name: string): string | undefined {
  return parameters.find(parameter => parameter.name === name)?.value
}

/** Numbers the arguments in the order in which `bindList` fills them. */
interface ParamCounter {
  next: Param
}

function nextParam(counter: ParamCounter): Param {
  counter.next += 1
  return counter.next - 1
}

function makeWindow(
  kind: Paging,
  total: TotalMode,
  sort: readonly Sort[],
  counter: ParamCounter,
): ListShape['window'] {
  if (kind === 'page') return { kind: 'page', offset: nextParam(counter), limit: nextParam(counter), total }
  const limit = nextParam(counter)
  return { kind: 'cursor', limit, after: kind === 'first' ? undefined : sort.map(() => nextParam(counter)) }
}

interface QueryConditions {
  readonly filter: ListShape['filter']
  readonly search: Param | undefined
  readonly values: ListTemplate['values']
}

/** `isCondition`: whether the parameter of this name is the search or a filter. */
export function makeConditions(
  view: CollectionView,
  parameters: readonly Parameter[],
  counter: ParamCounter,
  isCondition: (name: string) => boolean,
): QueryConditions {
  const conditions = new Conditions()
  const values: { index: number; filter: FilterTemplate | undefined }[] = []
  let search: Param | undefined
  parameters.forEach(({ name }, index) => {
    if (!isCondition(name)) return
    const param = nextParam(counter)
    if (name === 'q') {
      if (view.searched.length === 0) throw unknownParameter('q')
      search = param
      values.push({ index, filter: undefined })
      return
    }
    const filter = parseFilterName(view, name)
    conditions.add(name, filter, param)
    values.push({ index, filter })
  })
  return { filter: conditions.filter, search, values }
}

/** `parameters`: excluding paging parameters. */
function makeTemplate(scope: ListScope, kind: Paging, parameters: readonly Parameter[]): ListTemplate {
  const view = scope.target
  const counter: ParamCounter = { next: scope.within ? 1 : 0 }
  const total = totalOf(view, kind, parameters)
  const sort = parseSort(view, valueFor(parameters, 'sort'), valueFor(parameters, 'q') !== undefined)
  const isCondition = (name: string) => !structural.has(name) && !isTotal(view, name)
  const { filter, search, values } = makeConditions(view, parameters, counter, isCondition)
  const window = makeWindow(kind, total, sort, counter)
  let included: Param | undefined
  const selection = makeSelection(
    view,
    valueFor(parameters, 'fields'),
    valueFor(parameters, 'include'),
    () => (included ??= nextParam(counter)),
  )
  return {
    shape: {
      kind: 'list',
      collection: view.collection.name,
      within: scope.within && { ...scope.within, id: 0 },
      filter,
      search,
      sort,
      window,
      select: selection.select,
    },
    presentation: presentationOf(selection, values, sortedBy(view, sort)),
    cursors: cursorsOf(view.collection, sort),
    values,
    includes: included !== undefined,
  }
}

function presentationOf(
  { secret, deprecations }: Selection,
  values: ListTemplate['values'],
  sorted: readonly Field[],
): Presentation {
  const filters = values.flatMap(({ filter }) => filter ?? [])
  return makePresentation(secret || filters.some(filter => filter.secret), [
    ...deprecations,
    ...filters.flatMap(filter => filter.deprecations),
    ...sorted.flatMap(field => field.deprecated ?? []),
  ])
}

function sortedBy(view: CollectionView, sort: readonly Sort[]): readonly Field[] {
  return sort.flatMap(({ field }) => namedField(view, field) ?? [])
}

/** Throws BAD_REQUEST, naming the parameter. */
export function parseCount(
  parameters: readonly Parameter[],
  name: string,
  defaultCount: number,
  max: number,
): number {
  const parameter = parameters.find(candidate => candidate.name === name)
  if (!parameter) return defaultCount
  requireValue(parameter)
  const count = parseId(parameter.value, 0, parameter.value.length)
  if (count >= 1 && count <= max) return count
  const message = `The parameter "${name}" must be a whole number from 1 to ${max}, not ${quoted(parameter.value)}.`
  throw parameterFault(name, 'wrong_type', message)
}

/** With a trailing `&`. */
export function encodeParameter({ name, value }: Parameter): string {
  return `${encodeURIComponent(name).replaceAll('%5B', '[').replaceAll('%5D', ']')}=${encodeURIComponent(value)}&`
}

/** `parameters`: excluding paging parameters. */
export function bindValues(
  template: Pick<ListTemplate, 'values'>,
  parameters: readonly Parameter[],
): JsonValue[] {
  return template.values.map(({ index, filter }) => {
    const parameter = parameters[index] ?? { name: '', value: '' }
    return filter ? parseFilterValue(parameter, filter) : parseSearch(parameter)
  })
}

/** `parameters`: all; `others`: excluding paging parameters. */
function bindList(
  template: ListTemplate,
  parameters: readonly Parameter[],
  others: readonly Parameter[],
): BoundList {
  const args = bindValues(template, others)
  const perPage = parseCount(parameters, 'per_page', defaultPerPage, maxPerPage)
  const cursor = valueFor(parameters, 'cursor')
  const page = cursor === undefined ? parseCount(parameters, 'page', 1, lastPage) : undefined
  if (page !== undefined) args.push((page - 1) * perPage)
  args.push(perPage)
  if (cursor !== undefined && cursor !== '') args.push(...template.cursors.decode(cursor))
  if (template.includes) args.push(includedLimit)
  return { template, args, page, perPage, linkQuery: others.map(encodeParameter).join('') }
}

/** Parses the query of a list. Throws BAD_REQUEST (naming the parameter) or INVALID_CURSOR. */
export function parseList(scope: ListScope, query: string): BoundList {
  const parameters = parseQuery(query)
  const others = parameters.filter(({ name }) => !paging.has(name))
  const kind = pagingOf(parameters)
  const key = [kind, ...others.map(shapeKeyOf)].join('\n')
  const cached = scope.templates.get(key)
  const template = cached ?? makeTemplate(scope, kind, others)
  const bound = bindList(template, parameters, others)
  if (!cached) scope.templates.set(key, template)
  return bound
}
