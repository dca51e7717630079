/** The calls of `data` as plans. Shapes are interned: the guard and the store cache by their identity. */
import { Cache, CacheBound } from '../../../base/cache.ts'
import { isObject } from '../../../base/json.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import type { Names } from '../../plan/names.ts'
import {
  type Assignment,
  type CreateShape,
  type DeleteShape,
  type ItemShape,
  includedLimit,
  type ListShape,
  lastPage,
  type Param,
  type Plan,
  type Shape,
  type TotalMode,
  type UpdateShape,
} from '../../plan/plan.ts'
import { badCall, badValue } from './call-error.ts'
import type { ChangeOptions, ListOptions, ReadOptions } from './data.ts'
import type { Increments } from './increments.ts'
import { orderOf, selectionOf } from './selection.ts'
import { filterOf, type NamesOf } from './where.ts'

const maxShapes = 4000
const shapes = new Cache<string, Shape>(new CacheBound('logic_shapes', maxShapes))

/** Returns the same object for equal shapes. */
export function interned<S extends Shape>(shape: S): S {
  const key = JSON.stringify(shape)
  const cached = shapes.get(key)
  // Safe: the key contains the kind.
  if (cached) return cached as S
  shapes.set(key, shape)
  return shape
}

/** The maximum length of a list. */
export const maxLimit = 1000
/** The default length of one page, and how many items a walk reads at once. */
const pageLength = 100

/** The values of an update, canonical. */
export interface Changes {
  readonly values: JsonObject
  readonly increments: Increments
}

/** Collects the arguments of a plan. */
class Arguments {
  readonly values: JsonValue[] = []
  #included: Param | undefined

  readonly add = (value: JsonValue): Param => this.values.push(value) - 1
  readonly included = (): Param => {
    this.#included ??= this.add(includedLimit)
    return this.#included
  }
}

/** The plans of one collection for one principal. */
export class DataPlans {
  readonly #names: Names
  readonly #namesOf: NamesOf

  constructor(names: Names, namesOf: NamesOf) {
    this.#names = names
    this.#namesOf = namesOf
  }

  item(id: number, options: ReadOptions, place: string): Plan<ItemShape> {
    const args = new Arguments()
    const shape: ItemShape = {
      kind: 'item',
      collection: this.#names.collection.name,
      id: args.add(idOf(id, place)),
      select: this.#select(options, place, args),
    }
    return { shape: interned(shape), args: args.values }
  }

  /** Without `limit` and `page`, it finds one item more than the maximum, if there are that many. */
  list(options: ListOptions, total: TotalMode, place: string): Plan<ListShape> {
    const defaultLimit = options.page === undefined ? maxLimit + 1 : pageLength
    const limit = countOf(options.limit, defaultLimit, maxLimit, `${place}: limit`)
    const page = countOf(options.page, 1, lastPage, `${place}: page`)
    const args = new Arguments()
    const window = {
      kind: 'page',
      offset: args.add((page - 1) * limit),
      limit: args.add(limit),
      total,
    } as const
    return this.#list(options, window, place, args)
  }

  /** A page of the items after a position; without one, the first page. */
  walk(options: ListOptions, after: readonly JsonValue[] | undefined, place: string): Plan<ListShape> {
    const args = new Arguments()
    const window = { kind: 'cursor', limit: args.add(pageLength), after: after?.map(args.add) } as const
    return this.#list(options, window, place, args)
  }

  /** `values`: canonical. */
  create(values: JsonObject, place: string): Plan<CreateShape> {
    const args = new Arguments()
    const shape: CreateShape = {
      kind: 'create',
      collection: this.#names.collection.name,
      set: assignments(values, args),
      computed: [],
      select: this.#select({}, place, args),
    }
    return { shape: interned(shape), args: args.values }
  }

  update(
    id: number,
    { values, increments }: Changes,
    options: ChangeOptions & ReadOptions,
    place: string,
  ): Plan<UpdateShape> {
    const args = new Arguments()
    const shape: UpdateShape = {
      kind: 'update',
      mode: 'merge',
      collection: this.#names.collection.name,
      id: args.add(idOf(id, place)),
      set: assignments(values, args, increments),
      documents: 'merge',
      ifMatch: this.#ifMatch(options, place, args),
      select: this.#select(options, place, args),
    }
    return { shape: interned(shape), args: args.values }
  }

  delete(id: number, options: ChangeOptions, place: string): Plan<DeleteShape> {
    const args = new Arguments()
    const shape: DeleteShape = {
      kind: 'delete',
      collection: this.#names.collection.name,
      id: args.add(idOf(id, place)),
      ifMatch: this.#ifMatch(options, place, args),
    }
    return { shape: interned(shape), args: args.values }
  }

  /** The stored fields of an item that was read, without what was included or computed. */
  #ifMatch(options: ChangeOptions, place: string, args: Arguments): Param | undefined {
    if (!('ifMatch' in options)) return undefined
    const { ifMatch } = options
    const { fields, computed, relations } = this.#names.collection
    const entries = isObject(ifMatch) ? Object.entries(ifMatch) : []
    const isKnown = entries.every(([name]) => fields.has(name) || computed.has(name) || relations.has(name))
    const read = entries.filter(([name]) => this.#names.fields.has(name))
    if (!isKnown || read.every(([name]) => name === 'id'))
      throw badCall(
        `${place}: ifMatch`,
        'must be an item as it was read, with the fields that may not have changed.',
      )
    return args.add(Object.fromEntries(read))
  }

  #list(options: ListOptions, window: ListShape['window'], place: string, args: Arguments): Plan<ListShape> {
    const shape: ListShape = {
      kind: 'list',
      collection: this.#names.collection.name,
      within: undefined,
      filter: filterOf(options.where, this.#names, `${place}: where`, this.#namesOf, args.add),
      search: undefined,
      sort: orderOf(options.sort, this.#names, place),
      window,
      select: this.#select(options, place, args),
    }
    return { shape: interned(shape), args: args.values }
  }

  #select(options: ReadOptions, place: string, args: Arguments) {
    return selectionOf(options, this.#names, place, this.#namesOf, args.included)
  }
}

/** Sorted by name, so that the same fields give the same shape. */
function assignments(values: JsonObject, args: Arguments, increments: Increments = {}): Assignment[] {
  return Object.keys({ ...values, ...increments })
    .sort()
    .map(field => {
      const increment = increments[field]
      if (increment === undefined) return { field, param: args.add(values[field] ?? null) }
      return { field, param: args.add({ ...increment }), increments: true }
    })
}

export function idOf(id: unknown, place: string): number {
  if (Number.isSafeInteger(id) && Number(id) > 0) return Number(id)
  const refuse = typeof id === 'number' ? badValue : badCall
  throw refuse(place, 'needs the id of an item, a whole number above 0.')
}

function countOf(value: unknown, defaultValue: number, max: number, place: string): number {
  if (value === undefined) return defaultValue
  if (Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= max) return Number(value)
  throw badCall(place, `must be a whole number from 1 to ${max.toLocaleString('en')}.`)
}
