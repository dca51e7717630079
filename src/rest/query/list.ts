/**
 * The parameters of a list → a plan. The names of the parameters, and the names in `sort`, `fields` and `include`,
 * determine the plan's shape. A shape is created once and cached; further queries of the same shape differ only in their
 * arguments.
 */
import type { JsonValue } from '../../model/fields/type.ts'
import type { Field } from '../../model/model.ts'
import { cursorsOf } from '../../plan/cursor.ts'
import { namedField, quoted } from '../../plan/names.ts'
import type { Sort } from '../../plan/order.ts'
import { type ListShape, type Param, type TotalMode, totalModes } from '../../plan/plan.ts'
import { parseId } from '../path-id.ts'
import { makePresentation, type Presentation } from '../reply/headers.ts'
import type { CollectionView, ListScope } from './collection-view.ts'
import { parseFilterName, parseFilterValue, parseSearch } from './filter.ts'
import type { BoundList, FilterTemplate, ListTemplate } from './list-template.ts'
import { type Parameter, parameterFault, parseQuery, requireValue, unknownParameter } from './query-string.ts'
import { Conditions } from './related-filters.ts'
import { includedLimit, makeSelection, type Selection } from './select.ts'
import { parseSort } from './sort.ts'

export const defaultPerPage = 20
export const maxPerPage = 100
/** Keeps the offset well within 2^53. */
export const lastPage = 1_000_000_000

/** Their values determine the shape. */
const structural = new Set(['sort', 'fields', 'include'])
const totalModeNames: readonly string[] = totalModes
const paging = new Set(['page', 'per_page', 'cursor'])
/** A shape is determined by names alone, or `*`. */
const namesOnly = /^[A-Za-z0-9_,.*-]+$/

/** How a list is paged: by page number, from the first item on, or from a cursor on. */
type Paging = 'page' | 'first' | 'after'

function pagingOf(parameters: readonly Parameter[]): Paging {
  const cursor = given(parameters, 'cursor')
  if (cursor === undefined) return 'page'
  if (given(parameters, 'page') !== undefined) {
    throw parameterFault(
      'page',
      'excluded',
      'The parameters "page" and "cursor" exclude each other; give one.',
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
  const mode = totalModes.find(each => each === parameter.value)
  if (mode === undefined) {
    const message = `The parameter "total" must be one of ${totalModes.join(', ')}, not ${quoted(parameter.value)}.`
    throw parameterFault('total', 'wrong_type', message)
  }
  if (kind !== 'page' && mode !== 'none') {
    const message = 'A list by "cursor" has no total: leave the parameter "total" out, or give none.'
    throw parameterFault('total', 'excluded', message)
  }
  return mode
}

function shapeKeyOf(parameter: Parameter): string {
  const { name, value } = parameter
  // If it is a filter, this creates up to three unnecessary shapes, for the values that are names of modes.
  if (name === 'total' && totalModeNames.includes(value)) return `total=${value}`
  if (!structural.has(name)) return JSON.stringify(name)
  requireValue(parameter)
  if (namesOnly.test(value)) return `${name}=${value}`
  const message = `The parameter "${name}" must be names separated by commas, not ${quoted(value)}.`
  throw parameterFault(name, 'wrong_type', message)
}

export function given(parameters: readonly Parameter[], name: string): string | undefined {
  return parameters.find(parameter => parameter.name === name)?.value
}

/** Numbers the arguments in the order in which `bindList` fills them. */
interface Slots {
  next: Param
}

function take(slots: Slots): Param {
  slots.next += 1
  return slots.next - 1
}

function makeWindow(
  kind: Paging,
  total: TotalMode,
  sort: readonly Sort[],
  slots: Slots,
): ListShape['window'] {
  if (kind === 'page') return { kind: 'page', offset: take(slots), limit: take(slots), total }
  const limit = take(slots)
  return { kind: 'cursor', limit, after: kind === 'first' ? undefined : sort.map(() => take(slots)) }
}

interface ListConditions {
  readonly filter: ListShape['filter']
  readonly search: Param | undefined
  readonly values: ListTemplate['values']
}

/** `parameters`: without those of paging. */
function makeConditions(
  view: CollectionView,
  parameters: readonly Parameter[],
  slots: Slots,
): ListConditions {
  const conditions = new Conditions()
  const values: { at: number; filter: FilterTemplate | undefined }[] = []
  let search: Param | undefined
  parameters.forEach(({ name }, at) => {
    if (structural.has(name) || isTotal(view, name)) return
    const param = take(slots)
    if (name === 'q') {
      if (view.searched.length === 0) throw unknownParameter('q')
      search = param
      values.push({ at, filter: undefined })
      return
    }
    const filter = parseFilterName(view, name)
    conditions.add(name, filter, param)
    values.push({ at, filter })
  })
  return { filter: conditions.filter, search, values }
}

/** `parameters`: without those of paging. */
function makeTemplate(scope: ListScope, kind: Paging, parameters: readonly Parameter[]): ListTemplate {
  const view = scope.target
  const slots: Slots = { next: scope.within ? 1 : 0 }
  const total = totalOf(view, kind, parameters)
  const sort = parseSort(view, given(parameters, 'sort'), given(parameters, 'q') !== undefined)
  const { filter, search, values } = makeConditions(view, parameters, slots)
  const window = makeWindow(kind, total, sort, slots)
  let included: Param | undefined
  const selection = makeSelection(
    view,
    given(parameters, 'fields'),
    given(parameters, 'include'),
    () => (included ??= take(slots)),
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
  absent: number,
  most: number,
): number {
  const parameter = parameters.find(candidate => candidate.name === name)
  if (!parameter) return absent
  requireValue(parameter)
  const count = parseId(parameter.value, 0, parameter.value.length)
  if (count >= 1 && count <= most) return count
  const message = `The parameter "${name}" must be a whole number from 1 to ${most}, not ${quoted(parameter.value)}.`
  throw parameterFault(name, 'wrong_type', message)
}

/** With a trailing `&`. */
export function encodeParameter({ name, value }: Parameter): string {
  return `${encodeURIComponent(name).replaceAll('%5B', '[').replaceAll('%5D', ']')}=${encodeURIComponent(value)}&`
}

/** `parameters`: without those of paging. */
export function bindValues(
  template: Pick<ListTemplate, 'values'>,
  parameters: readonly Parameter[],
): JsonValue[] {
  return template.values.map(({ at, filter }) => {
    const parameter = parameters[at] ?? { name: '', value: '' }
    return filter ? parseFilterValue(parameter, filter) : parseSearch(parameter)
  })
}

/** `all`: all parameters; `others`: without those of paging. */
function bindList(
  template: ListTemplate,
  all: readonly Parameter[],
  others: readonly Parameter[],
): BoundList {
  const args = bindValues(template, others)
  const perPage = parseCount(all, 'per_page', defaultPerPage, maxPerPage)
  const cursor = given(all, 'cursor')
  const page = cursor === undefined ? parseCount(all, 'page', 1, lastPage) : undefined
  if (page !== undefined) args.push((page - 1) * perPage)
  args.push(perPage)
  if (cursor !== undefined && cursor !== '') args.push(...template.cursors.decode(cursor))
  if (template.includes) args.push(includedLimit)
  return { template, args, page, perPage, rest: others.map(encodeParameter).join('') }
}

/** Parses the query of a list. Throws BAD_REQUEST (naming the parameter) or INVALID_CURSOR. */
export function parseList(scope: ListScope, query: string): BoundList {
  const all = parseQuery(query)
  const others = all.filter(({ name }) => !paging.has(name))
  const kind = pagingOf(all)
  const key = [kind, ...others.map(shapeKeyOf)].join('\n')
  const known = scope.templates.get(key)
  const template = known ?? makeTemplate(scope, kind, others)
  const bound = bindList(template, all, others)
  if (!known) scope.templates.set(key, template)
  return bound
}
