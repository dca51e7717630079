/** The parameters of `GET /api/v1/events`. */

import type { Principal } from '../../../base/principal.ts'
import { collectionOfPattern, typesOf } from '../../../engine/log/event-types.ts'
import { admit } from '../../../engine/plan/guard/guard.ts'
import { quoted } from '../../../engine/plan/names.ts'
import { isComputed } from '../../../model/computed/fields.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { didYouMean } from '../../../model/suggest.ts'
import { type EventSelection, offersEvents, readableCollections } from '../../events/event-request.ts'
import { type EventFilter, firstFilterParam } from '../../events/event-shapes.ts'
import { parseId } from '../path-id.ts'
import type { CollectionViews } from '../query/collection-view.ts'
import { parseFilterName, parseFilterValue } from '../query/filter.ts'
import {
  filledValue,
  type Parameter,
  parameterFault,
  parseQuery,
  unknownParameter,
} from '../query/query-string.ts'
import { Conditions } from '../query/related-filters.ts'
import { parsePosition } from './position.ts'

export const defaultLimit = 100
export const maxLimit = 1000
export const maxWaitSeconds = 30

export interface EventsQuery extends EventSelection {
  /** Undefined: from the end of the log. */
  readonly after: number | undefined
  readonly limit: number
  readonly waitSeconds: number
}

/** The parameters that are not filters. */
const parameterNames: readonly string[] = ['after', 'limit', 'wait', 'collections', 'types', 'item_id']

export interface EventsQueryParts {
  readonly model: Model
  readonly views: CollectionViews
  readonly principal: Principal
}

/**
 * Throws UNAUTHORIZED, FORBIDDEN or INSUFFICIENT_SCOPE for a collection that the caller may not read; otherwise BAD_REQUEST,
 * naming the parameter.
 */
export function parseEventsQuery(parts: EventsQueryParts, query: string): EventsQuery {
  const parameters = parseQuery(query)
  const valueFor = (name: string) => filledValue(parameters, name)
  const { model, principal } = parts
  const namedCollections = namesIn(valueFor('collections'))?.map(name => collectionNamed(model, name))
  const types = namesIn(valueFor('types'))
  const typedCollections = types?.map(type => collectionTyped(model, type, namedCollections))
  const collections = namedCollections ?? explicitCollections(typedCollections)
  if (collections === undefined) readableCollections(model, principal)
  for (const collection of collections ?? []) admit(model, collection, 'read', principal.access)
  const [onlyCollection] = collections?.length === 1 ? collections : []
  const filters = parameters.filter(({ name }) => !parameterNames.includes(name))
  const itemId = valueFor('item_id')
  if (itemId !== undefined) requireSingleCollection(onlyCollection, 'item_id')
  const after = valueFor('after')
  return {
    collections,
    types,
    itemId: itemId === undefined ? undefined : wholeNumber('item_id', itemId, 1, Number.MAX_SAFE_INTEGER),
    filter: parseFilters(parts.views, onlyCollection, filters),
    after: after === undefined ? undefined : eventId(after),
    limit: wholeNumber('limit', valueFor('limit') ?? String(defaultLimit), 1, maxLimit),
    waitSeconds: wholeNumber('wait', valueFor('wait') ?? '0', 0, maxWaitSeconds),
  }
}

function eventId(value: string): number {
  const position = parsePosition(value)
  if (position !== undefined) return position
  const message = `The parameter "after" must be the id of an event, not ${quoted(value)}.`
  throw parameterFault('after', 'wrong_type', message)
}

function namesIn(value: string | undefined): readonly string[] | undefined {
  return value === undefined ? undefined : [...new Set(value.split(','))].sort()
}

function collectionNamed(model: Model, name: string): Collection {
  const collection = model.collections.get(name)
  if (collection && offersEvents(collection)) return collection
  const names = [...model.collections.values()].filter(offersEvents).map(logged => logged.name)
  const message = `The parameter "collections" names ${quoted(name)}, which is not a collection with events.`
  throw parameterFault('collections', 'unknown_collection', `${message}${didYouMean(name, names)}`)
}

function collectionTyped(
  model: Model,
  type: string,
  namedCollections: readonly Collection[] | undefined,
): Collection | 'all' {
  const collection = collectionOfPattern(model, type)
  if (collection === undefined || (collection !== 'all' && !offersEvents(collection))) {
    const knownTypes = [...model.collections.values()].filter(offersEvents).flatMap(typesOf)
    const message = `The parameter "types" names ${quoted(type)}, which is not an event type.`
    throw parameterFault('types', 'unknown_type', `${message}${didYouMean(type, knownTypes)}`)
  }
  if (collection === 'all' || namedCollections === undefined || namedCollections.includes(collection))
    return collection
  const message = `The parameter "types" names ${quoted(type)}, but ${collection.name} is not among "collections".`
  throw parameterFault('types', 'excluded', message)
}

/** Undefined if one of the types covers every collection. */
function explicitCollections(
  typedCollections: readonly (Collection | 'all')[] | undefined,
): readonly Collection[] | undefined {
  const collections = new Set<Collection>()
  for (const collection of typedCollections ?? ['all' as const]) {
    if (collection === 'all') return undefined
    collections.add(collection)
  }
  return [...collections]
}

function requireSingleCollection(collection: Collection | undefined, parameter: string): Collection {
  if (collection) return collection
  const message = `The parameter ${quoted(parameter)} needs exactly one collection: name it by "collections".`
  throw parameterFault(parameter, 'excluded', message)
}

function wholeNumber(name: string, value: string, min: number, max: number): number {
  const number = value === '0' ? 0 : parseId(value, 0, value.length)
  const isWhole = number > 0 || value === '0'
  if (isWhole && number >= min && number <= max) return number
  const bounds = max === Number.MAX_SAFE_INTEGER ? 'above 0' : `from ${min} to ${max}`
  const message = `The parameter "${name}" must be a whole number ${bounds}, not ${quoted(value)}.`
  throw parameterFault(name, 'wrong_type', message)
}

function computedFilter(name: string): Error {
  const message = `The parameter ${quoted(name)} names a computed field, which events do not have.`
  return parameterFault(name, 'unknown_parameter', message)
}

function parseFilters(
  views: CollectionViews,
  collection: Collection | undefined,
  filters: readonly Parameter[],
): EventFilter | undefined {
  const conditions = new Conditions()
  const args = filters.map((parameter, index) => {
    const { name } = parameter
    const view = collection && views.get(collection.name)
    if (!name.endsWith(']')) {
      if (!view?.fields.has(name)) throw unknownParameter(name, parameterNames)
      const message = `The parameter ${quoted(name)} is not known here. To filter, write ${name}[eq].`
      throw parameterFault(name, 'unknown_parameter', message)
    }
    if (!view) throw requireSingleCollection(undefined, name)
    const template = parseFilterName(view, name)
    if (isComputed(template.field)) throw computedFilter(name)
    conditions.add(name, template, firstFilterParam + index)
    return parseFilterValue(parameter, template)
  })
  const { filter } = conditions
  return filter && { filter, args }
}
