/** The parameters of lists that are not filters: what they decide, what they mean, and how OpenAPI describes them. */

import type { Cursors } from '../../../engine/plan/cursor.ts'
import { namedField, quoted } from '../../../engine/plan/names.ts'
import type { Sort } from '../../../engine/plan/order.ts'
import {
  type ListShape,
  lastPage,
  maxCounted,
  type Param,
  type TotalMode,
  totalModes,
} from '../../../engine/plan/plan.ts'
import type { JsonSchema, JsonValue } from '../../../model/fields/type.ts'
import { parseId } from '../path-id.ts'
import type { CollectionView } from './collection-view.ts'
import type { BoundList } from './list-template.ts'
import { namesKey, type Parameter, parameterFault, requireValue } from './query-string.ts'

export const defaultPerPage = 20
export const maxPerPage = 100

/** A text that is not empty. */
export const text: JsonSchema = { type: 'string', minLength: 1 }

interface ListParameter {
  /**
   * `page`: a page of the list, so the links to other pages replace it. `names`: the shape, by the names in its value. `mode`:
   * the shape, by one of `modes`; where a field has its name, it is a filter instead. `search`: like a filter.
   */
  readonly decides: 'page' | 'names' | 'mode' | 'search'
  readonly modes?: readonly string[]
  /** Omitted where it depends on the collection. */
  readonly openapi?: {
    readonly description: string
    readonly schema: JsonSchema
    readonly allowEmptyValue?: true
  }
}

const table: Readonly<Record<string, ListParameter>> = {
  page: {
    decides: 'page',
    openapi: {
      description:
        'The number of the page. Without `page` and `cursor`, it is the first page. Cannot be combined with `cursor`.',
      // Without a default: a client that sends defaults could never send `cursor`.
      schema: { type: 'integer', minimum: 1, maximum: lastPage },
    },
  },
  per_page: {
    decides: 'page',
    openapi: {
      description: 'The number of items per page.',
      schema: { type: 'integer', minimum: 1, maximum: maxPerPage, default: defaultPerPage },
    },
  },
  cursor: {
    decides: 'page',
    openapi: {
      description: '`next_cursor` of the previous page; empty for the first page.',
      schema: { type: 'string' },
      allowEmptyValue: true,
    },
  },
  total: {
    decides: 'mode',
    modes: totalModes,
    openapi: {
      description: `How \`meta.total\` is determined. \`exact\`, the default, counts all matching items. \`estimate\` counts up to ${maxCounted} and estimates beyond that; \`total_is_estimate\` then is true. \`none\` omits \`total\`. With \`cursor\`, only \`none\` is allowed.`,
      // Without a default, as `page`.
      schema: { $ref: '#/components/schemas/TotalMode' },
    },
  },
  fields: {
    decides: 'names',
    // Without an example: the response would lack members that its schema requires.
    openapi: {
      description:
        'The fields to return, separated by commas. Items then have only these, whatever their schema requires. ' +
        '`*` stands for all fields that are not computed, so `*,open_tasks` adds a computed field to them.',
      schema: text,
    },
  },
  include: { decides: 'names' },
  sort: { decides: 'names' },
  q: { decides: 'search' },
}

export const listParameters: ReadonlyMap<string, ListParameter> = new Map(Object.entries(table))

/** Whether the parameter is a filter or the search, and so has an argument. */
export function isCondition(view: CollectionView, name: string): boolean {
  const decides = listParameters.get(name)?.decides
  return decides !== 'names' && (decides !== 'mode' || isFilter(view, name))
}

export function isPaging({ name }: Parameter): boolean {
  return listParameters.get(name)?.decides === 'page'
}

function isFilter(view: CollectionView, name: string): boolean {
  return namedField(view, name) !== undefined
}

/** A shape is determined by names alone, or `*`. */
const namesOnly = /^[A-Za-z0-9_,.*-]+$/

/** The part of a shape's key that a parameter, other than of paging, decides. */
export function shapeKeyOf(parameter: Parameter): string {
  const { name, value } = parameter
  const { decides, modes } = listParameters.get(name) ?? {}
  // If it is a filter, this creates unnecessary shapes: one for each value that is the name of a mode.
  if (modes?.includes(value)) return `${name}=${value}`
  return decides === 'names' ? namesKey(parameter, namesOnly) : JSON.stringify(name)
}

export function valueFor(parameters: readonly Parameter[], name: string): string | undefined {
  return parameters.find(parameter => parameter.name === name)?.value
}

/** How a list is paged: by page number, by cursor from the start, or after a cursor. */
export type Paging = 'page' | 'first' | 'after'

export function pagingOf(parameters: readonly Parameter[]): Paging {
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

function totalOf(view: CollectionView, kind: Paging, parameters: readonly Parameter[]): TotalMode {
  const parameter = isFilter(view, 'total') ? undefined : parameters.find(({ name }) => name === 'total')
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

/**
 * The window of a list; the result numbers its arguments by `next`, in the order in which `bindWindow` fills them. Throws
 * BAD_REQUEST, naming the parameter.
 */
export function parseWindow(
  view: CollectionView,
  kind: Paging,
  parameters: readonly Parameter[],
): (sort: readonly Sort[], next: () => Param) => ListShape['window'] {
  const total = totalOf(view, kind, parameters)
  return (sort, next) => {
    if (kind === 'page') return { kind, offset: next(), limit: next(), total }
    const limit = next()
    return { kind: 'cursor', limit, after: kind === 'first' ? undefined : sort.map(next) }
  }
}

/** Adds the arguments of the window to `args`. Throws BAD_REQUEST, naming the parameter, or INVALID_CURSOR. */
export function bindWindow(
  parameters: readonly Parameter[],
  cursors: Cursors,
  args: JsonValue[],
): Pick<BoundList, 'page' | 'perPage'> {
  const perPage = parseCount(parameters, 'per_page', defaultPerPage, maxPerPage)
  const cursor = valueFor(parameters, 'cursor')
  const page = cursor === undefined ? parseCount(parameters, 'page', 1, lastPage) : undefined
  if (page !== undefined) args.push((page - 1) * perPage)
  args.push(perPage)
  if (cursor !== undefined && cursor !== '') args.push(...cursors.decode(cursor))
  return { page, perPage }
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
