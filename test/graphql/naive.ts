/**
 * The reference: graphql-js's own executor over resolvers that look at plain rows, one field at a time.
 * It shares the schema with the engine, and with the plan tests what rules and filters mean; nothing else.
 */
import {
  execute,
  type GraphQLFormattedError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  parse,
} from 'graphql'
import { ApiError } from '../../src/errors.ts'
import type { JsonValue } from '../../src/model/fields/type.ts'
import type { Collection, Model, Relation } from '../../src/model/model.ts'
import { cursorsOf, effectiveSort } from '../../src/plan/cursor.ts'
import type { Filter, Sort } from '../../src/plan/plan.ts'
import type { Principal } from '../../src/principal.ts'
import { type Data, type Row, World } from '../plan/reference.ts'
import type { Asked } from './random-document.ts'

interface Item {
  readonly of: Collection
  readonly row: Row
}

interface ListArguments {
  readonly limit?: number | null
  readonly first?: number | null
  readonly last?: number | null
  readonly filter?: FilterInput | null
  readonly orderBy?: readonly Sort[] | null
}

type FilterInput = Readonly<Record<string, unknown>>

export interface NaiveReply {
  readonly errors: readonly GraphQLFormattedError[]
  readonly data: unknown
}

const snake = (name: string) => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

export function naiveReply(
  { model, data, schema, who }: { model: Model; data: Data; schema: GraphQLSchema; who: Principal },
  { source, variables }: Asked,
): NaiveReply {
  const resolver = new Resolver(model, data, who)
  const result = execute({
    schema,
    document: parse(source),
    variableValues: variables,
    fieldResolver: (from, args, _context, info) => resolver.resolve(from as Item | undefined, args, info),
  })
  if (result instanceof Promise || !('data' in result)) throw new Error('the resolvers answer at once')
  const errors = (result.errors ?? []).map(({ message, locations, path, originalError }) => ({
    message,
    locations,
    path,
    extensions: { code: originalError instanceof ApiError ? originalError.code : 'NOT_FOUND' },
  }))
  return JSON.parse(JSON.stringify({ errors, data: result.data }))
}

class Resolver {
  readonly #model: Model
  readonly #data: Data
  readonly #who: Principal

  constructor(model: Model, data: Data, who: Principal) {
    this.#model = model
    this.#data = data
    this.#who = who
  }

  #world(args: readonly JsonValue[] = []): World {
    return new World(this.#model, this.#data, this.#who, args)
  }

  resolve(from: Item | undefined, args: ListArguments & { id?: string }, info: GraphQLResolveInfo): unknown {
    if (info.parentType.name === 'Query') return this.#root(args, info.fieldName)
    if (from && 'row' in from) return this.#member(from, args, info.fieldName)
    return (from as unknown as Record<string, unknown>)[info.fieldName]
  }

  #collection(name: string): Collection {
    return this.#world().collection(name)
  }

  #root(args: ListArguments & { id?: string }, name: string): unknown {
    if (name === 'rateLimit') return null
    if (name === 'me') return this.#item(this.#collection('users'), this.#who.userId)
    const collections = [...this.#model.collections.values()]
    const one = collections.find(({ singular }) => singular === snake(name))
    if (one) return this.#item(one, Number(args.id))
    const list = collections.find(of => of.name === snake(name))
    if (list) {
      this.#mustRead(list)
      return this.#list(list, this.#world().visible(list), args)
    }
    const of = this.#collection(snake(name).replace(/_connection$/, ''))
    this.#mustRead(of)
    return this.#connection(of, this.#world().visible(of), args)
  }

  #item(of: Collection, id: number | null): Item | null {
    this.#mustRead(of)
    const row = this.#world()
      .visible(of)
      .find(each => each.id === id)
    return row ? { of, row } : null
  }

  #member({ of, row }: Item, args: ListArguments, name: string): unknown {
    const plain = snake(name)
    if (of.fields.has(plain)) return this.#field(of, row, plain)
    // Told by the answer to a create alone.
    if (plain === 'key' || plain === 'client_secret') return null
    const isConnection = !of.relations.has(plain)
    const relation = of.relations.get(isConnection ? plain.replace(/_connection$/, '') : plain)
    if (!relation) throw new Error(`no ${of.name}.${name}`)
    this.#mustReach(of, relation)
    const target = this.#collection(relation.target)
    const rows = this.#world().reached(of, relation, row)
    if (relation.kind === 'one') return rows[0] ? { of: target, row: rows[0] } : null
    return isConnection ? this.#connection(target, rows, args) : this.#list(target, rows, args)
  }

  #field(of: Collection, row: Row, name: string): unknown {
    const world = this.#world()
    if (!world.exists(of, name)) throw this.#mayNotRead(of, name)
    const value = world.shown(of, row, name)
    return of.fields.get(name)?.type.graphql === 'ID' && value !== null ? String(value) : value
  }

  // --- lists

  #matching(of: Collection, rows: readonly Row[], { filter, orderBy }: ListArguments): Row[] {
    const values: JsonValue[] = []
    const wanted = filter ? this.#filter(of, filter, values) : undefined
    const sort = distinct(orderBy ?? [])
    for (const { field } of effectiveSort(sort)) this.#mustKnow(of, field)
    const world = this.#world(values)
    return world.ordered(
      rows.filter(row => world.fulfils(wanted, of, row)),
      sort,
      of,
    )
  }

  #list(of: Collection, rows: readonly Row[], args: ListArguments): Item[] {
    return this.#matching(of, rows, args)
      .slice(0, args.limit ?? 0)
      .map(row => ({ of, row }))
  }

  #connection(of: Collection, rows: readonly Row[], args: ListArguments): unknown {
    const sort = distinct(args.orderBy ?? [])
    const matching = this.#matching(of, rows, args)
    const size = args.last ?? args.first ?? 10
    const shown =
      typeof args.last === 'number' ? matching.slice(-size || matching.length) : matching.slice(0, size)
    const cursors = cursorsOf(of, sort)
    const edges = shown.map(row => ({
      cursor: cursors.encode(this.#world().keys(sort, of, row)),
      node: { of, row },
    }))
    const more = matching.length > size
    return {
      edges,
      nodes: edges.map(({ node }) => node),
      totalCount: matching.length,
      pageInfo: {
        hasNextPage: typeof args.last === 'number' ? false : more,
        hasPreviousPage: typeof args.last === 'number' ? more : false,
        startCursor: edges[0]?.cursor ?? null,
        endCursor: edges.at(-1)?.cursor ?? null,
      },
    }
  }

  #filter(of: Collection, input: FilterInput, values: JsonValue[]): Filter {
    const filters = Object.entries(input).map(([key, value]): Filter => {
      if (key === 'not') return { kind: 'not', filter: this.#filter(of, value as FilterInput, values) }
      if (key === 'and' || key === 'or') {
        const parts = (value as FilterInput[]).map(part => this.#filter(of, part, values))
        return { kind: key, filters: parts }
      }
      const name = snake(key)
      const relation = of.relations.get(name)
      if (relation) {
        if (!this.#knows(of, relation)) throw unknown('relation', name, of)
        this.#mustReach(of, relation)
        const target = this.#collection(relation.target)
        return { kind: 'related', relation: name, filter: this.#filter(target, value as FilterInput, values) }
      }
      return { kind: 'and', filters: this.#comparisons(of, name, value as FilterInput, values) }
    })
    return { kind: 'and', filters }
  }

  #comparisons(of: Collection, field: string, input: FilterInput, values: JsonValue[]): Filter[] {
    const isId = of.fields.get(field)?.type.graphql === 'ID'
    return Object.entries(input).map(([name, value]): Filter => {
      this.#mustKnow(of, field)
      const one = (each: unknown) => (isId && typeof each === 'string' ? Number(each) : each) as JsonValue
      const param = values.push(Array.isArray(value) ? value.map(one) : one(value)) - 1
      return { kind: 'compare', field, operator: name === 'isNull' ? 'null' : (name as 'eq'), param }
    })
  }

  // --- refusals

  #mayNotRead(of: Collection, name: string): ApiError {
    const { userId, access } = this.#who
    const code = userId === null && access.scopes === 'all' ? 'UNAUTHORIZED' : 'FORBIDDEN'
    return new ApiError(code, `You may not read "${name}" of ${of.name}.`)
  }

  #mustKnow(of: Collection, field: string): void {
    if (!this.#world().exists(of, field)) throw unknown('field', field, of)
  }

  #mustRead(of: Collection): void {
    const world = this.#world()
    world.mustHaveScope('read', of)
    if (world.errors.size > 0) {
      throw new ApiError('INSUFFICIENT_SCOPE', `This needs the scope read:${of.singular}.`)
    }
    world.mustBePossible(of.access.read, of)
    if (world.errors.has('UNAUTHORIZED')) {
      throw new ApiError('UNAUTHORIZED', `Nobody may read ${of.name} without a credential.`)
    }
    if (world.errors.size === 0) return
    const byItself = `An app may not read ${of.name} by itself: it needs a user.`
    const message = this.#who.userId === null ? byItself : `You may not read ${of.name}.`
    throw new ApiError('FORBIDDEN', message)
  }

  /** Whether the fields are there that the relation hangs on. */
  #knows(of: Collection, relation: Relation): boolean {
    const world = this.#world()
    const target = this.#collection(relation.target)
    if (relation.kind === 'one') return world.exists(of, relation.field)
    if (relation.kind === 'many') return world.exists(target, relation.field)
    const through = this.#collection(relation.through)
    return world.exists(through, relation.from) && world.exists(through, relation.to)
  }

  #mustReach(of: Collection, relation: Relation): void {
    if (!this.#knows(of, relation)) throw this.#mayNotRead(of, relation.name)
    if (relation.kind === 'manyToMany') this.#mustRead(this.#collection(relation.through))
    this.#mustRead(this.#collection(relation.target))
  }
}

function unknown(what: string, name: string, of: Collection): ApiError {
  return new ApiError('BAD_REQUEST', `There is no ${what} "${name}" in ${of.name}.`)
}

function distinct(sort: readonly Sort[]): readonly Sort[] {
  return sort.filter(({ field }, index) => sort.findIndex(each => each.field === field) === index)
}
