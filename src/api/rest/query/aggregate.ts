/** The parameters of an aggregate → a plan. As for lists, the names determine the shape, which is created once. */

import type { ApiError } from '../../../base/errors.ts'
import {
  groupFault,
  hasZone,
  measureFault,
  relationsFault,
  toManyFault,
} from '../../../engine/plan/guard/guard.ts'
import { findField, quoted } from '../../../engine/plan/names.ts'
import {
  type FieldMeasure,
  fieldMeasures,
  type GroupKey,
  type GroupSort,
  lastPage,
  type Measure,
  maxGroupKeys,
  type SelectedAggregate,
} from '../../../engine/plan/plan.ts'
import type { Deprecation, Field } from '../../../model/model.ts'
import { timeZoneOf } from '../../../model/time-zone.ts'
import { makePresentation, type Presentation } from '../reply/headers.ts'
import type { CollectionView, ListScope } from './collection-view.ts'
import { bindValues, encodeParameter, makeConditions, paramsFrom } from './list.ts'
import { maxPerPage, parseCount, valueFor } from './list-parameters.ts'
import type { AggregateTemplate, BoundAggregate, ListTemplate } from './list-template.ts'
import { suggestParameter } from './other-spellings.ts'
import {
  namesKey,
  type Parameter,
  parameterFault,
  parseQuery,
  refuseIn,
  unknownParameter,
} from './query-string.ts'
import { follow } from './related-filters.ts'
import { parseNames } from './select.ts'

/** Per kind of measure, in one request. */
export const maxMeasures = 10
const maxSortKeys = 8

/** The parameters that are not filters. */
const aggregateParameterNames: readonly string[] = [
  ...['group_by', 'count', ...fieldMeasures, 'sort', 'page', 'per_page', 'q', 'tz'],
]

/** Parameters whose values, not only their names, determine the shape. */
const structural: ReadonlySet<string> = new Set(['group_by', ...fieldMeasures, 'sort'])
const paging: ReadonlySet<string> = new Set(['page', 'per_page'])
const namesOnly = /^[A-Za-z0-9_,.:-]+$/

/** Parses the query string of an aggregate. Throws BAD_REQUEST, naming the parameter. */
export function parseAggregate(scope: ListScope, query: string): BoundAggregate {
  const parameters = parseQuery(query)
  const others = parameters.filter(({ name }) => !paging.has(name))
  const key = others.map(shapeKeyOf).join('\n')
  const cached = scope.aggregates.get(key)
  const template = cached ?? makeTemplate(scope, others)
  const args = bindValues(template, others)
  const perPage = parseCount(parameters, 'per_page', maxPerPage, maxPerPage)
  const page = parseCount(parameters, 'page', 1, lastPage)
  args.push((page - 1) * perPage, perPage)
  const zone = valueFor(parameters, 'tz')
  if (zone !== undefined) args.push(parseZone(zone))
  if (!cached) scope.aggregates.set(key, template)
  return { template, args, page, perPage, linkQuery: others.map(encodeParameter).join('') }
}

function shapeKeyOf(parameter: Parameter): string {
  const { name } = parameter
  if (name === 'count') return `count=${isCounted(parameter)}`
  return structural.has(name) ? namesKey(parameter, namesOnly) : JSON.stringify(name)
}

/** Also true without a value, as in `?count`. */
function isCounted({ value }: Parameter): boolean {
  if (['', 'true', 'false'].includes(value)) return value !== 'false'
  const message = `The parameter "count" must be true or false, or have no value, not ${quoted(value)}: it counts the items of each group.`
  throw parameterFault('count', 'wrong_type', message)
}

function makeTemplate(scope: ListScope, parameters: readonly Parameter[]): AggregateTemplate {
  const view = scope.target
  const first = scope.within ? 1 : 0
  const { filter, search, values } = makeConditions(view, parameters, paramsFrom(first), isCondition)
  const groups = parseGroups(view, valueFor(parameters, 'group_by'))
  const measures = parseMeasures(view, parameters)
  requireDistinctKeys(groups, measures)
  const named = [...groups, ...measures.filter(measure => measure.kind !== 'count')]
  requireFewRelations(named)
  const hasZoneParameter = valueFor(parameters, 'tz') !== undefined
  if (hasZoneParameter && !groups.some(({ field, part }) => hasZone(field, part))) throw zoneWithoutTime()
  const next = first + values.length
  return {
    shape: {
      kind: 'aggregate',
      collection: view.collection.name,
      within: scope.within && { ...scope.within, id: 0 },
      ...{ filter, search },
      groups: groups.map(({ path, field: { name: field }, part }) => ({ path, field, part }) as GroupKey),
      zone: hasZoneParameter ? next + 2 : undefined,
      measures: measures.map(
        ({ kind, path, field }) => (field ? { kind, path, field: field.name } : { kind: 'count' }) as Measure,
      ),
      sort: parseSort(valueFor(parameters, 'sort'), groups, measures),
      ...{ offset: next, limit: next + 1 },
      select: selectedAggregates(groups, measures),
    },
    presentation: presentationOf(view, named, values),
    values,
  }
}

function zoneWithoutTime(): ApiError {
  const message =
    'The parameter "tz" needs a part of a time in "group_by", such as `created_at:month`: it is the time zone of these parts.'
  return parameterFault('tz', 'excluded', message)
}

function parseZone(value: string): string {
  try {
    return timeZoneOf(value)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw parameterFault('tz', 'wrong_type', `The parameter "tz" names no time zone: ${error.message}`)
  }
}

/** Throws BAD_REQUEST for a name without brackets: it is always a parameter, even if a field has the name. */
function isCondition(view: CollectionView, name: string): boolean {
  if (structural.has(name) || name === 'count' || name === 'tz') return false
  if (name === 'q' || name.endsWith(']')) return true
  const suggestion = suggestParameter(view, name)
  if (suggestion === undefined) throw unknownParameter(name, aggregateParameterNames)
  const write = suggestion === `\`${name}=…\`` ? `\`${name}[eq]=…\`` : suggestion
  const message = `The parameter ${quoted(name)} is not known here: write ${write}.`
  throw parameterFault(name, 'unknown_parameter', message)
}

interface NamedField {
  /** The relations before the field. */
  readonly path: readonly string[]
  readonly field: Field
  readonly deprecations: readonly (Deprecation | undefined)[]
  /** Whether the path leads through a collection whose items must not be stored. */
  readonly secret: boolean
}

interface NamedGroup extends NamedField {
  /** As in the request. */
  readonly key: string
  readonly part: string | undefined
}

type NamedMeasure = { readonly key: string } & (
  | { readonly kind: 'count'; readonly path?: undefined; readonly field?: undefined }
  /** `name`: as in the request; `key`: its name in `sort`. */
  | (NamedField & { readonly kind: FieldMeasure; readonly name: string })
)

/** A field along to-one relations, `project.owner.name`. Throws BAD_REQUEST, naming the parameter. */
function namedField(start: CollectionView, parameter: string, name: string): NamedField {
  const names = name.split('.')
  const refuse = refuseIn(parameter)
  const { view, deprecations, secret, toMany } = follow(start, parameter, names, () => refuse)
  const path = names.slice(0, -1)
  if (toMany > 0) requireNone(parameter, toManyFault(path.join('.')))
  const field = findField(view, names.at(-1) ?? '', refuse)
  return { path, field, deprecations: [...deprecations, field.deprecated], secret }
}

function parseGroups(view: CollectionView, value: string | undefined): readonly NamedGroup[] {
  if (value === undefined) return []
  return parseNames('group_by', value, maxGroupKeys).map(key => {
    const [name = '', ...parts] = key.split(':')
    const part = parts.length === 0 ? undefined : parts.join(':')
    const named = namedField(view, 'group_by', name)
    requireNone('group_by', groupFault(named.field, part))
    return { ...named, key, part }
  })
}

function parseMeasures(view: CollectionView, parameters: readonly Parameter[]): readonly NamedMeasure[] {
  const count: NamedMeasure = { kind: 'count', key: 'count' }
  const ofFields = fieldMeasures.flatMap((kind): NamedMeasure[] => {
    const value = valueFor(parameters, kind)
    if (value === undefined) return []
    return parseNames(kind, value, maxMeasures).map(name => {
      const named = namedField(view, kind, name)
      requireNone(kind, measureFault(named.field, kind))
      return { ...named, kind, name, key: `${kind}.${name}` }
    })
  })
  const counted = parameters.find(({ name }) => name === 'count')
  const hasCount = ofFields.length === 0 || (counted !== undefined && isCounted(counted))
  return hasCount ? [count, ...ofFields] : ofFields
}

function requireNone(parameter: string, fault: string | undefined): void {
  if (fault === undefined) return
  throw parameterFault(parameter, 'not_aggregated', `The parameter "${parameter}" ${fault}`)
}

function requireFewRelations(named: readonly NamedField[]): void {
  const fault = relationsFault(named)
  if (fault !== undefined) throw parameterFault('group_by', 'too_many', fault)
}

/** Group keys and kinds of measures are members of the same object, so their names must differ. */
function requireDistinctKeys(groups: readonly NamedGroup[], measures: readonly NamedMeasure[]): void {
  const conflicting = groups.find(({ key }) => measures.some(({ kind }) => kind === key))
  if (conflicting === undefined) return
  const message = `The parameter "group_by" names "${conflicting.key}", which is also the name of a measure: request that measure separately.`
  throw parameterFault('group_by', 'excluded', message)
}

function parseSort(
  value: string | undefined,
  groups: readonly NamedGroup[],
  measures: readonly NamedMeasure[],
): readonly GroupSort[] {
  if (value === undefined) return []
  const sorts: GroupSort[] = []
  for (const listedKey of parseNames('sort', value, maxSortKeys)) {
    const descending = listedKey.startsWith('-')
    const key = descending ? listedKey.slice(1) : listedKey
    const place = placeOf(key, groups, measures)
    if (sorts.some(earlier => earlier.by === place.by && earlier.index === place.index)) {
      throw parameterFault('sort', 'given_twice', `The parameter "sort" lists ${quoted(key)} twice.`)
    }
    sorts.push({ ...place, descending })
  }
  return sorts
}

function placeOf(
  key: string,
  groups: readonly NamedGroup[],
  measures: readonly NamedMeasure[],
): Pick<GroupSort, 'by' | 'index'> {
  const group = groups.findIndex(candidate => candidate.key === key)
  if (group >= 0) return { by: 'group', index: group }
  const measure = measures.findIndex(candidate => candidate.key === key)
  if (measure >= 0) return { by: 'measure', index: measure }
  const sortKeys = [...groups, ...measures].map(candidate => candidate.key).join(', ')
  const message = `The parameter "sort" names ${quoted(key)}, which is not a sort key of the groups: use ${sortKeys}.`
  throw parameterFault('sort', 'not_sortable', message)
}

function selectedAggregates(
  groups: readonly NamedGroup[],
  measures: readonly NamedMeasure[],
): readonly SelectedAggregate[] {
  const keys = groups.map(({ key }, index): SelectedAggregate => ({ kind: 'group', key, index }))
  const selectMeasure = (key: string, measure: NamedMeasure): SelectedAggregate => {
    return { kind: 'measure', key, index: measures.indexOf(measure) }
  }
  const counts = measures
    .filter(({ kind }) => kind === 'count')
    .map(measure => selectMeasure('count', measure))
  const others = fieldMeasures.flatMap((kind): SelectedAggregate[] => {
    const ofKind = measures.filter(measure => measure.kind === kind)
    if (ofKind.length === 0) return []
    return [
      {
        kind: 'object',
        key: kind,
        select: ofKind.map(measure => selectMeasure(measure.kind === 'count' ? '' : measure.name, measure)),
      },
    ]
  })
  return [...keys, ...counts, ...others]
}

function presentationOf(
  view: CollectionView,
  named: readonly NamedField[],
  values: ListTemplate['values'],
): Presentation {
  const filters = values.flatMap(({ filter }) => filter ?? [])
  const deprecations: readonly (Deprecation | undefined)[] = [
    view.collection.deprecated,
    ...named.flatMap(({ deprecations }) => deprecations),
    ...filters.flatMap(filter => filter.deprecations),
  ]
  const isSecret = view.secret || [...filters, ...named].some(({ secret }) => secret)
  return makePresentation(
    isSecret,
    deprecations.filter(deprecation => deprecation !== undefined),
  )
}
