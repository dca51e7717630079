/**
 * The parameters of a list → a plan. The names of the parameters, and the names in `sort`, `fields` and `include`,
 * determine the plan's shape. A shape is created once and cached; further queries of the same shape differ only in their
 * arguments.
 */

import { cursorsOf } from '../../../engine/plan/cursor.ts'
import { namedField } from '../../../engine/plan/names.ts'
import type { Sort } from '../../../engine/plan/order.ts'
import { includedLimit, type ListShape, type Param } from '../../../engine/plan/plan.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Field } from '../../../model/model.ts'
import { makePresentation, type Presentation } from '../reply/headers.ts'
import type { CollectionView, ListScope } from './collection-view.ts'
import { parseFilterName, parseFilterValue, parseSearch } from './filter.ts'
import {
  bindWindow,
  isCondition,
  isPaging,
  type Paging,
  pagingOf,
  parseWindow,
  shapeKeyOf,
  valueFor,
} from './list-parameters.ts'
import type { BoundList, FilterTemplate, ListTemplate } from './list-template.ts'
import { type Parameter, parseQuery, unknownParameter } from './query-string.ts'
import { Conditions } from './related-filters.ts'
import { makeSelection, type Selection } from './select.ts'
import { parseSort } from './sort.ts'

/** Numbers the arguments in the order in which `bindList` fills them. */
export function paramsFrom(first: Param): () => Param {
  let next = first
  return () => next++
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
  next: () => Param,
  isCondition: (view: CollectionView, name: string) => boolean,
): QueryConditions {
  const conditions = new Conditions()
  const values: { index: number; filter: FilterTemplate | undefined }[] = []
  let search: Param | undefined
  parameters.forEach(({ name }, index) => {
    if (!isCondition(view, name)) return
    const param = next()
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
  const next = paramsFrom(scope.within ? 1 : 0)
  const makeWindow = parseWindow(view, kind, parameters)
  const sort = parseSort(view, valueFor(parameters, 'sort'), valueFor(parameters, 'q') !== undefined)
  const { filter, search, values } = makeConditions(view, parameters, next, isCondition)
  const window = makeWindow(sort, next)
  let included: Param | undefined
  const selection = makeSelection(
    view,
    valueFor(parameters, 'fields'),
    valueFor(parameters, 'include'),
    () => (included ??= next()),
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
  const { page, perPage } = bindWindow(parameters, template.cursors, args)
  if (template.includes) args.push(includedLimit)
  return { template, args, page, perPage, linkQuery: others.map(encodeParameter).join('') }
}

/** Parses the query of a list. Throws BAD_REQUEST (naming the parameter) or INVALID_CURSOR. */
export function parseList(scope: ListScope, query: string): BoundList {
  const parameters = parseQuery(query)
  const others = parameters.filter(parameter => !isPaging(parameter))
  const kind = pagingOf(parameters)
  const key = [kind, ...others.map(shapeKeyOf)].join('\n')
  const cached = scope.templates.get(key)
  const template = cached ?? makeTemplate(scope, kind, others)
  const bound = bindList(template, parameters, others)
  if (!cached) scope.templates.set(key, template)
  return bound
}
