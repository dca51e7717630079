/** The parameters of `GET /api/v1/events`. */

import { isLogged, readableCollections, type WantedEvents } from '../../events/event-request.ts'
import { type EventFilter, firstFilterParam } from '../../events/event-shapes.ts'
import { collectionOfPattern, typesOf } from '../../events/event-types.ts'
import { isComputed } from '../../model/computed/fields.ts'
import type { Collection, Model } from '../../model/model.ts'
import { didYouMean } from '../../model/nearest.ts'
import { admit } from '../../plan/guard.ts'
import { quoted } from '../../plan/names.ts'
import type { Principal } from '../../principal.ts'
import { parseId } from '../path-id.ts'
import type { CollectionViews } from '../query/collection-view.ts'
import { parseFilterName, parseFilterValue } from '../query/filter.ts'
import {
  type Parameter,
  parameterFault,
  parseQuery,
  requireValue,
  unknownParameter,
} from '../query/query-string.ts'
import { Conditions } from '../query/related-filters.ts'
import { parsePosition } from './position.ts'

export const defaultLimit = 100
export const maxLimit = 1000
export const maxWaitSeconds = 30

export interface EventsQuery extends WantedEvents {
  /** Undefined: from the end of the log. */
  readonly after: number | undefined
  readonly limit: number
  readonly waitSeconds: number
}

/** The parameters that are not filters. */
export const parameterNames: readonly string[] = ['after', 'limit', 'wait', 'collections', 'types', 'item_id']

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
  const given = (name: string) => {
    const parameter = parameters.find(candidate => candidate.name === name)
    if (parameter) requireValue(parameter)
    return parameter?.value
  }
  const { model, principal } = parts
  const named = namesIn(given('collections'))?.map(name => collectionNamed(model, name))
  const types = namesIn(given('types'))
  const typed = types?.map(type => collectionTyped(model, type, named))
  const collections = named ?? explicit(typed)
  if (collections === undefined) readableCollections(model, principal)
  for (const collection of collections ?? []) admit(model, collection, 'read', principal.access)
  const [only] = collections?.length === 1 ? collections : []
  const filters = parameters.filter(({ name }) => !parameterNames.includes(name))
  const itemId = given('item_id')
  if (itemId !== undefined) requireOne(only, 'item_id')
  const after = given('after')
  return {
    collections,
    types,
    itemId: itemId === undefined ? undefined : wholeNumber('item_id', itemId, 1, Number.MAX_SAFE_INTEGER),
    filter: parseFilters(parts.views, only, filters),
    after: after === undefined ? undefined : eventId(after),
    limit: wholeNumber('limit', given('limit') ?? String(defaultLimit), 1, maxLimit),
    waitSeconds: wholeNumber('wait', given('wait') ?? '0', 0, maxWaitSeconds),
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
  if (collection && isLogged(collection)) return collection
  const known = [...model.collections.values()].filter(isLogged).map(each => each.name)
  const message = `The parameter "collections" names ${quoted(name)}, which is no collection that has events.`
  throw parameterFault('collections', 'unknown_collection', `${message}${didYouMean(name, known)}`)
}

function collectionTyped(
  model: Model,
  type: string,
  named: readonly Collection[] | undefined,
): Collection | 'all' {
  const found = collectionOfPattern(model, type)
  if (found === undefined || (found !== 'all' && !isLogged(found))) {
    const known = [...model.collections.values()].filter(isLogged).flatMap(typesOf)
    const message = `The parameter "types" names ${quoted(type)}, which is no type of event.`
    throw parameterFault('types', 'unknown_type', `${message}${didYouMean(type, known)}`)
  }
  if (found === 'all' || named === undefined || named.includes(found)) return found
  const message = `The parameter "types" names ${quoted(type)}, but ${found.name} is not among "collections".`
  throw parameterFault('types', 'excluded', message)
}

/** Undefined where one of the types covers every collection. */
function explicit(typed: readonly (Collection | 'all')[] | undefined): readonly Collection[] | undefined {
  const found = new Set<Collection>()
  for (const each of typed ?? ['all' as const]) {
    if (each === 'all') return undefined
    found.add(each)
  }
  return [...found]
}

function requireOne(only: Collection | undefined, parameter: string): Collection {
  if (only) return only
  const message = `The parameter ${quoted(parameter)} needs exactly one collection: name it by "collections".`
  throw parameterFault(parameter, 'excluded', message)
}

function wholeNumber(name: string, value: string, least: number, most: number): number {
  const number = value === '0' ? 0 : parseId(value, 0, value.length)
  const isWhole = number > 0 || value === '0'
  if (isWhole && number >= least && number <= most) return number
  const bounds = most === Number.MAX_SAFE_INTEGER ? 'above 0' : `from ${least} to ${most}`
  const message = `The parameter "${name}" must be a whole number ${bounds}, not ${quoted(value)}.`
  throw parameterFault(name, 'wrong_type', message)
}

function computedFilter(name: string): Error {
  const message = `The parameter ${quoted(name)} names a computed field, which events do not have.`
  return parameterFault(name, 'unknown_parameter', message)
}

function parseFilters(
  views: CollectionViews,
  only: Collection | undefined,
  filters: readonly Parameter[],
): EventFilter | undefined {
  const conditions = new Conditions()
  const args = filters.map((parameter, index) => {
    const { name } = parameter
    const view = only && views.get(only.name)
    if (!name.endsWith(']')) {
      if (!view?.fields.has(name)) throw unknownParameter(name, parameterNames)
      const message = `The parameter ${quoted(name)} is not known here. To filter, write ${name}[eq].`
      throw parameterFault(name, 'unknown_parameter', message)
    }
    if (!view) throw requireOne(undefined, name)
    const template = parseFilterName(view, name)
    if (isComputed(template.field)) throw computedFilter(name)
    conditions.add(name, template, firstFilterParam + index)
    return parseFilterValue(parameter, template)
  })
  const { filter } = conditions
  return filter && { filter, args }
}
