/**
 * The parameters of a list → a plan. What decides the plan's shape (which parameters there are, and the names in
 * `sort`, `fields` and `include`) is worked out once and kept; a further query only brings new arguments.
 */
import type { JsonValue } from '../model/fields/type.ts'
import type { Field } from '../model/model.ts'
import { cursorsOf, effectiveSort } from '../plan/cursor.ts'
import { type ListShape, type Param, type Sort, type TotalMode, totalModes } from '../plan/plan.ts'
import { rankFault, rankKey } from '../plan/rank.ts'
import { parseFilterName, parseFilterValue, parseSearch } from './filter.ts'
import type { BoundList, FilterTemplate, ListTemplate } from './list-template.ts'
import {
  echo,
  type Parameter,
  parameterFault,
  parseQuery,
  requireValue,
  unknownParameter,
} from './parameters.ts'
import { parseId } from './path.ts'
import { makePresentation, type Presentation } from './presentation.ts'
import { Conditions } from './related.ts'
import { includedLimit, makeSelection, parseNames, type Selection, unknownName } from './select.ts'
import type { CollectionView, ListScope } from './view.ts'

export const defaultPerPage = 20
export const mostPerPage = 100
/** Keeps the offset well within 2^53. */
export const lastPage = 1_000_000_000
const MOST_SORTS = 8
const LONGEST_MEMO = 400

const structural = new Set(['sort', 'fields', 'include'])
const totalModeNames: readonly string[] = totalModes
const paging = new Set(['page', 'per_page', 'cursor'])
/** Nothing but names may decide a shape. */
const names = /^[A-Za-z0-9_,.-]+$/

/** How a list is paged, as far as it decides the shape: by page, from the first item, or from a cursor on. */
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

/** Whether the parameter says how much is told of the total: a field of that name is filtered by instead. */
function isTotal({ fields }: CollectionView, name: string): boolean {
  return name === 'total' && !fields.has(name)
}

function totalOf(view: CollectionView, kind: Paging, parameters: readonly Parameter[]): TotalMode {
  const parameter = parameters.find(({ name }) => isTotal(view, name))
  if (parameter === undefined) return 'exact'
  requireValue(parameter)
  const mode = totalModes.find(each => each === parameter.value)
  if (mode === undefined) {
    const message = `The parameter "total" must be one of ${totalModes.join(', ')}, not ${echo(parameter.value)}.`
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
  // Where it is a filter, its value decides nothing, and a shape is made for each of the few that are a mode's name.
  if (name === 'total' && totalModeNames.includes(value)) return `total=${value}`
  if (!structural.has(name)) return JSON.stringify(name)
  requireValue(parameter)
  if (names.test(value)) return `${name}=${value}`
  const message = `The parameter "${name}" must be names separated by commas, not ${echo(value)}.`
  throw parameterFault(name, 'wrong_type', message)
}

function given(parameters: readonly Parameter[], name: string): string | undefined {
  return parameters.find(parameter => parameter.name === name)?.value
}

function parseSort(view: CollectionView, value: string | undefined, isSearch: boolean): readonly Sort[] {
  const sort: Sort[] = []
  for (const listed of value === undefined ? [] : parseNames('sort', value, MOST_SORTS)) {
    const descending = listed.startsWith('-')
    const field = descending ? listed.slice(1) : listed
    const isRank = field === rankKey && isSearchable(view)
    if (!isRank && !view.fields.has(field)) throw unknownName('sort', 'field', field, view)
    if (sort.some(known => known.field === field)) {
      throw parameterFault('sort', 'given_twice', `The parameter "sort" lists ${echo(field)} twice.`)
    }
    if (!isRank && !view.fields.get(field)?.type.sortable) {
      throw parameterFault(
        'sort',
        'not_sortable',
        `The parameter "sort" names ${echo(field)}, which has no order.`,
      )
    }
    sort.push({ field, descending })
  }
  requireRank(sort, isSearch)
  return effectiveSort(sort)
}

/** The order by rank is there in a search, alone, and with the best first. */
function requireRank(sort: readonly Sort[], isSearch: boolean): void {
  if (rankFault(sort, isSearch) === undefined) return
  const message =
    'The order by rank is "sort=-q", alone and with "q": the best first, and the newest of equals before the others.'
  throw parameterFault('sort', 'not_sortable', message)
}

/** Whether this caller may search here. */
function isSearchable({ collection, fields }: CollectionView): boolean {
  return collection.searchable.some(field => fields.has(field.name))
}

/** Hands out arguments in the order in which `bindList` fills them. */
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

interface Wanted {
  readonly filter: ListShape['filter']
  readonly search: Param | undefined
  readonly values: ListTemplate['values']
}

/** `parameters`: those that are not about paging. */
function makeConditions(view: CollectionView, parameters: readonly Parameter[], slots: Slots): Wanted {
  const conditions = new Conditions()
  const values: { at: number; filter: FilterTemplate | undefined }[] = []
  let search: Param | undefined
  parameters.forEach(({ name }, at) => {
    if (structural.has(name) || isTotal(view, name)) return
    const param = take(slots)
    if (name === 'q') {
      if (!isSearchable(view)) throw unknownParameter('q')
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

/** `parameters`: those that are not about paging. */
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
  return sort.flatMap(({ field }) => view.fields.get(field) ?? [])
}

function parseCount(parameters: readonly Parameter[], name: string, absent: number, most: number): number {
  const parameter = parameters.find(candidate => candidate.name === name)
  if (!parameter) return absent
  requireValue(parameter)
  const count = parseId(parameter.value, 0, parameter.value.length)
  if (count >= 1 && count <= most) return count
  const message = `The parameter "${name}" must be a whole number from 1 to ${most}, not ${echo(parameter.value)}.`
  throw parameterFault(name, 'wrong_type', message)
}

function encode({ name, value }: Parameter): string {
  return `${encodeURIComponent(name).replaceAll('%5B', '[').replaceAll('%5D', ']')}=${encodeURIComponent(value)}&`
}

function bindValues(template: ListTemplate, parameters: readonly Parameter[]): JsonValue[] {
  return template.values.map(({ at, filter }) => {
    const parameter = parameters[at] ?? { name: '', value: '' }
    return filter ? parseFilterValue(parameter, filter) : parseSearch(parameter)
  })
}

/** `all`: the parameters as they came; `others`: those of them that are not about paging. */
function bindList(
  template: ListTemplate,
  all: readonly Parameter[],
  others: readonly Parameter[],
): BoundList {
  const args = bindValues(template, others)
  const perPage = parseCount(all, 'per_page', defaultPerPage, mostPerPage)
  const cursor = given(all, 'cursor')
  const page = cursor === undefined ? parseCount(all, 'page', 1, lastPage) : undefined
  if (page !== undefined) args.push((page - 1) * perPage)
  args.push(perPage)
  if (cursor !== undefined && cursor !== '') args.push(...template.cursors.decode(cursor))
  if (template.includes) args.push(includedLimit)
  return { template, args, page, perPage, rest: others.map(encode).join('') }
}

function readList(scope: ListScope, query: string): BoundList {
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

/**
 * A list's query as plan and paging. The same query is read once.
 * Throws BAD_REQUEST (naming the parameter) or INVALID_CURSOR.
 */
export function parseList(scope: ListScope, query: string): BoundList {
  const known = scope.bound.get(query)
  if (known) return known
  const made = readList(scope, query)
  if (query.length <= LONGEST_MEMO) scope.bound.set(query, made)
  return made
}
