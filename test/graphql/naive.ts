/**
 * The reference: the executor of graphql-js with resolvers that read plain rows, one field at a time. It shares only
 * the schema with the engine, and with the plan tests the semantics of rules and filters.
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
import { nearest } from '../../src/model/nearest.ts'
import { cursorsOf } from '../../src/plan/cursor.ts'
import { type TotalOrder, totalOrder } from '../../src/plan/order.ts'
import type { Filter, Plan, Sort, WriteShape } from '../../src/plan/plan.ts'
import type { Principal } from '../../src/principal.ts'
import { compareKeys, type Data, Evaluation, mayRead, type Row, writeReference } from '../plan/reference.ts'
import type { GeneratedOperation } from './random-document.ts'

interface RootArguments extends ListArguments {
  readonly id?: string
  readonly nodeId?: string
}

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
  readonly search?: string | null
  readonly after?: string | null
  readonly before?: string | null
}

type FilterInput = Readonly<Record<string, unknown>>

export interface NaiveReply {
  readonly errors: readonly NaiveError[]
  readonly data: unknown
}

/** A write with several errors may report any of them. */
export type NaiveError = Pick<GraphQLFormattedError, 'locations' | 'path'> & {
  readonly message?: string
  readonly extensions: { readonly code: string } | { readonly codes: readonly string[] }
}

export interface NaiveContext {
  readonly model: Model
  readonly data: Data
  readonly schema: GraphQLSchema
  readonly who: Principal
}

const typeNameOf = ({ singular }: Collection) => camel(`_${singular}`)
const snake = (name: string) => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

export function naiveReply(context: NaiveContext, operation: GeneratedOperation): NaiveReply {
  return answered(new Resolver(context.model, context.data, context.who, new Map()), context, operation)
}

/**
 * The reply to mutations, and all rows afterwards; undefined when they deleted the caller's own account.
 * `made`: the ids of the created items in order, by collection.
 */
export function naiveMutation(
  context: NaiveContext,
  operation: GeneratedOperation,
  made: ReadonlyMap<string, readonly number[]>,
): { readonly reply: NaiveReply; readonly data: Data } | undefined {
  const resolver = new Resolver(context.model, context.data, context.who, made)
  const reply = answered(resolver, context, operation)
  return resolver.isLost ? undefined : { reply, data: resolver.data }
}

function answered(
  resolver: Resolver,
  { schema }: NaiveContext,
  { source, variables }: GeneratedOperation,
): NaiveReply {
  const result = execute({
    schema,
    document: parse(source),
    variableValues: variables,
    typeResolver: item => typeNameOf((item as Item).of),
    fieldResolver: (from, args, _context, info) => resolver.resolve(from as Item | undefined, args, info),
  })
  if (result instanceof Promise || !('data' in result)) throw new Error('the resolvers are synchronous')
  const errors = (result.errors ?? []).map(({ message, locations, path, originalError }) => {
    if (originalError instanceof WriteRefused)
      return { locations, path, extensions: originalError.expectedCodes }
    const code = originalError instanceof ApiError ? originalError.code : 'NOT_FOUND'
    return { message, locations, path, extensions: { code } }
  })
  return JSON.parse(JSON.stringify({ errors, data: result.data }))
}

class WriteRefused extends Error {
  readonly expectedCodes: { readonly codes: readonly string[] }

  constructor(codes: Iterable<string>) {
    super('refused')
    this.expectedCodes = { codes: [...codes] }
  }
}

class Resolver {
  readonly #model: Model
  readonly #who: Principal
  readonly #made: Map<string, readonly number[]>
  data: Data
  /** Whether the caller's own account was deleted. */
  isLost = false

  constructor(model: Model, data: Data, who: Principal, made: ReadonlyMap<string, readonly number[]>) {
    this.#model = model
    this.data = data
    this.#who = who
    this.#made = new Map(made)
  }

  #context(args: readonly JsonValue[] = []): Evaluation {
    return new Evaluation(this.#model, this.data, this.#who, args)
  }

  resolve(from: Item | undefined, args: RootArguments, info: GraphQLResolveInfo): unknown {
    if (info.parentType.name === 'Query') return this.#root(args, info.fieldName)
    if (info.parentType.name === 'Mutation') return this.#mutate(args, info.fieldName)
    if (from && 'row' in from) return this.#member(from, args, info.fieldName)
    return (from as unknown as Record<string, unknown>)[info.fieldName]
  }

  #collection(name: string): Collection {
    return this.#context().collection(name)
  }

  #root(args: RootArguments, name: string): unknown {
    if (name === 'rateLimit') return null
    if (name === 'node') return this.#node(args.nodeId ?? '')
    if (name === 'me') return this.#item(this.#collection('users'), this.#who.userId)
    const collections = [...this.#model.collections.values()]
    const one = collections.find(({ singular }) => singular === snake(name))
    if (one) return this.#item(one, Number(args.id))
    const list = collections.find(of => of.name === snake(name))
    if (list) {
      this.#mustRead(list)
      return this.#list(list, this.#context().visible(list), { ...args, limit: args.limit ?? 10 })
    }
    const of = this.#collection(snake(name).replace(/_connection$/, ''))
    this.#mustRead(of)
    return this.#connection(of, this.#context().visible(of), args)
  }

  #item(of: Collection, id: number | null): Item | null {
    this.#mustRead(of)
    const row = this.#context()
      .visible(of)
      .find(each => each.id === id)
    return row ? { of, row } : null
  }

  #node(nodeId: string): Item | null {
    const [type, id, ...more] = nodeId.split(':')
    const of = [...this.#model.collections.values()].find(each => typeNameOf(each) === type)
    return of ? this.#item(of, more.length === 0 ? Number(id) : 0) : null
  }

  #member({ of, row }: Item, args: ListArguments, name: string): unknown {
    const plain = snake(name)
    if (name === 'nodeId') return `${typeNameOf(of)}:${row.id}`
    if (of.fields.has(plain)) return this.#field(of, row, plain)
    // Only the reply to a create contains it.
    if (plain === 'key' || plain === 'client_secret') return null
    const isConnection = !of.relations.has(plain)
    const relation = of.relations.get(isConnection ? plain.replace(/_connection$/, '') : plain)
    if (!relation) throw new Error(`no ${of.name}.${name}`)
    this.#mustReach(of, relation)
    const target = this.#collection(relation.target)
    const rows = this.#context().reached(of, relation, row)
    if (relation.kind === 'one') return rows[0] ? { of: target, row: rows[0] } : null
    return isConnection ? this.#connection(target, rows, args) : this.#list(target, rows, args)
  }

  #field(of: Collection, row: Row, name: string): unknown {
    const context = this.#context()
    if (!context.exists(of, name)) throw this.#mayNotRead(of, name)
    const value = context.shown(of, row, name)
    return of.fields.get(name)?.type.graphql.type === 'ID' && value !== null ? String(value) : value
  }

  // --- mutations

  #mutate(args: object, name: string): unknown {
    const [, verb = '', type = ''] = /^(create|update|delete)(.+)$/.exec(name) ?? []
    const of = [...this.#model.collections.values()].find(({ singular }) => `_${singular}` === snake(type))
    if (!of) throw new Error(`no type for ${name}`)
    const { plan, faults } = planOf(verb, of, { ...args })
    const before = this.data
    const [nextId, ...later] = this.#made.get(of.name) ?? []
    const result = writeReference(this.#model, before, this.#who, plan, nextId)
    if ('errors' in result) {
      // A default may refer to a deleted item: a second error, and either may be reported.
      const lost = verb === 'create' && !hasValidReferences(before, of, defaultsOf(of, args))
      throw new WriteRefused([...result.errors, ...faults, ...(lost ? ['VALIDATION_FAILED'] : [])])
    }
    if (faults.length > 0) throw new WriteRefused(faults)
    if (verb === 'delete') {
      const left = removed(this.#model, before, of, result.id)
      if (!left) throw new WriteRefused(['CONFLICT'])
      this.data = left
      const { userId } = this.#who
      this.isLost ||= userId !== null && !left.users?.some(row => row.id === userId)
      return String(result.id)
    }
    const row = result.data[of.name]?.find(each => each.id === result.id)
    if (row && !hasValidReferences(result.data, of, row)) throw new WriteRefused(['VALIDATION_FAILED'])
    if (verb === 'create') this.#made.set(of.name, later)
    this.data = result.data
    if (row && mayRead(this.#model, this.data, this.#who, of, row)) return { of, row }
    if (verb === 'update') return null
    throw new ApiError('NOT_FOUND', `Item ${result.id} of ${of.name} was made, but you may not see it.`)
  }

  // --- lists

  #matching(of: Collection, rows: readonly Row[], { filter, orderBy, search }: ListArguments): Row[] {
    const values: JsonValue[] = [search ?? null]
    const wanted = filter ? this.#filter(of, filter, values) : undefined
    const context = this.#context(values)
    const isSearch = typeof search === 'string'
    if (isSearch && context.searched(of).length === 0) {
      throw new ApiError('BAD_REQUEST', `There is nothing to search in ${of.name}.`)
    }
    const sort = orderOf(orderBy)
    for (const { field } of sort) this.#mustKnow(of, field)
    return context.ordered(
      rows.filter(row => context.fulfils(wanted, of, row) && (!isSearch || context.finds(0, of, row))),
      sort,
      of,
    )
  }

  /** The rows after the position, or before it. */
  #beyond(of: Collection, rows: readonly Row[], { orderBy, after, before }: ListArguments): readonly Row[] {
    const cursor = after ?? before
    if (typeof cursor !== 'string') return rows
    const sort = orderOf(orderBy)
    const position = cursorsOf(of, sort).decode(cursor)
    const side = typeof after === 'string' ? 1 : -1
    return rows.filter(row => side * compareKeys(this.#context().keys(sort, of, row), position, sort) > 0)
  }

  #list(of: Collection, rows: readonly Row[], args: ListArguments): Item[] {
    return this.#beyond(of, this.#matching(of, rows, args), args)
      .slice(0, args.limit ?? 100)
      .map(row => ({ of, row }))
  }

  #connection(of: Collection, rows: readonly Row[], args: ListArguments): unknown {
    const sort = orderOf(args.orderBy)
    const all = this.#matching(of, rows, args)
    const matching = this.#beyond(of, all, args)
    const size = args.last ?? args.first ?? 10
    const shown =
      typeof args.last === 'number' ? matching.slice(-size || matching.length) : matching.slice(0, size)
    const cursors = cursorsOf(of, sort)
    const edges = shown.map(row => ({
      cursor: cursors.encode(this.#context().keys(sort, of, row)),
      node: { of, row },
    }))
    const more = matching.length > size
    return {
      edges,
      nodes: edges.map(({ node }) => node),
      totalCount: all.length,
      pageInfo: {
        hasNextPage: typeof args.last === 'number' ? typeof args.before === 'string' : more,
        hasPreviousPage: typeof args.last === 'number' ? more : typeof args.after === 'string',
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
        if (!this.#knows(of, relation)) throw this.#unknown('relation', name, of)
        this.#mustReach(of, relation)
        const target = this.#collection(relation.target)
        return { kind: 'related', relation: name, filter: this.#filter(target, value as FilterInput, values) }
      }
      return { kind: 'and', filters: this.#comparisons(of, name, value as FilterInput, values) }
    })
    return { kind: 'and', filters }
  }

  #comparisons(of: Collection, field: string, input: FilterInput, values: JsonValue[]): Filter[] {
    const isId = of.fields.get(field)?.type.graphql.type === 'ID'
    return Object.entries(input).map(([name, value]): Filter => {
      this.#mustKnow(of, field)
      const one = (each: unknown) => (isId && typeof each === 'string' ? Number(each) : each) as JsonValue
      const param = values.push(Array.isArray(value) ? value.map(one) : one(value)) - 1
      return { kind: 'compare', field, operator: name === 'isNull' ? 'null' : (snake(name) as 'eq'), param }
    })
  }

  // --- refusals

  #mayNotRead(of: Collection, name: string): ApiError {
    const { userId, access } = this.#who
    const code = userId === null && access.scopes === 'all' ? 'UNAUTHORIZED' : 'FORBIDDEN'
    return new ApiError(code, `You may not read "${name}" of ${of.name}.`)
  }

  #mustKnow(of: Collection, field: string): void {
    if (!this.#context().exists(of, field)) throw this.#unknown('field', field, of)
  }

  #unknown(kind: 'field' | 'relation', name: string, of: Collection): ApiError {
    const context = this.#context()
    const known =
      kind === 'field'
        ? [...of.fields.keys()].filter(field => context.exists(of, field))
        : [...of.relations.values()].filter(each => this.#knows(of, each)).map(each => each.name)
    const meant = nearest(name, known)
    const hint = meant === undefined ? '' : ` Did you mean \`${meant}\`?`
    return new ApiError(
      'BAD_REQUEST',
      `The request names "${name}", which is no ${kind} of ${of.name}.${hint}`,
    )
  }

  #mustRead(of: Collection): void {
    const context = this.#context()
    context.mustHaveScope('read', of)
    if (context.errors.size > 0) {
      throw new ApiError('INSUFFICIENT_SCOPE', `This needs the scope read:${of.singular}.`)
    }
    context.mustBePossible(of.access.read, of)
    if (context.errors.has('UNAUTHORIZED')) {
      throw new ApiError('UNAUTHORIZED', `Nobody may read ${of.name} without a credential.`)
    }
    if (context.errors.size === 0) return
    const byItself = `An app may not read ${of.name} by itself: it needs a user.`
    const message = this.#who.userId === null ? byItself : `You may not read ${of.name}.`
    throw new ApiError('FORBIDDEN', message)
  }

  /** Whether the fields of the relation exist for the caller. */
  #knows(of: Collection, relation: Relation): boolean {
    const context = this.#context()
    const target = this.#collection(relation.target)
    if (relation.kind === 'one') return context.exists(of, relation.field)
    if (relation.kind === 'many') return context.exists(target, relation.field)
    const through = this.#collection(relation.through)
    return context.exists(through, relation.from) && context.exists(through, relation.to)
  }

  #mustReach(of: Collection, relation: Relation): void {
    if (!this.#knows(of, relation)) throw this.#mayNotRead(of, relation.name)
    if (relation.kind === 'manyToMany') this.#mustRead(this.#collection(relation.through))
    this.#mustRead(this.#collection(relation.target))
  }
}

function orderOf(sort: readonly Sort[] | null | undefined): TotalOrder {
  const keys = sort ?? []
  return totalOrder(keys.filter(({ field }, index) => keys.findIndex(each => each.field === field) === index))
}

function planOf(
  verb: string,
  of: Collection,
  given: Readonly<Record<string, unknown>>,
): { readonly plan: Plan<WriteShape>; readonly faults: readonly string[] } {
  const id = Number(given.id ?? 0)
  const common = { collection: of.name, ifMatch: undefined, select: [] } as const
  if (verb === 'delete')
    return { plan: { shape: { ...common, kind: 'delete', id: 0 }, args: [id] }, faults: [] }
  const fields = [...of.fields.values()].filter(
    ({ name }) => name !== 'id' && given[camel(name)] !== undefined,
  )
  const values = fields.map(({ name, type }): JsonValue => {
    // Plain JSON: graphql-js creates objects without a prototype.
    const value: JsonValue = JSON.parse(JSON.stringify(given[camel(name)]))
    if (value === null) return null
    return type.canonical(type.graphql.type === 'ID' ? Number(value) : value)
  })
  const faults = fields.some((field, at) => values[at] === null && !field.optional)
    ? ['VALIDATION_FAILED']
    : []
  const set = fields.map(({ name }, at) => ({ field: name, param: at + 1 }))
  const shape: WriteShape =
    verb === 'create'
      ? { kind: 'create', collection: of.name, set, computed: [], select: [] }
      : { ...common, kind: 'update', mode: 'merge', id: 0, set }
  return { plan: { shape, args: [id, ...values] }, faults }
}

const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The defaults of a create. */
function defaultsOf(of: Collection, given: object): Row {
  const left = [...of.fields.values()].filter(({ name }) => !Object.hasOwn(given, camel(name)))
  return Object.fromEntries(
    left.flatMap(({ name, default: standard }) =>
      standard?.kind === 'value' ? [[name, standard.value]] : [],
    ),
  )
}

function hasValidReferences(data: Data, of: Collection, row: Row): boolean {
  return [...of.fields.values()].every(({ name, reference }) => {
    const id = row[name] ?? null
    return !reference || id === null || data[reference.target]?.some(each => each.id === id)
  })
}

/** The rows that remain after a deletion; undefined when a remaining row restricts it. */
function removed(model: Model, data: Data, { name }: Collection, id: number): Data | undefined {
  const gone = new Set([`${name} ${id}`])
  const references = [...model.collections.values()].flatMap(of =>
    [...of.relations.values()].flatMap(relation => (relation.kind === 'one' ? { ...relation, of } : [])),
  )
  const isGone = (of: string, row: Row) => gone.has(`${of} ${row.id}`)
  const leads = ({ target, field }: (typeof references)[number], row: Row) =>
    row[field] !== null && gone.has(`${target} ${row[field]}`)
  for (let size = 0; size < gone.size; ) {
    size = gone.size
    for (const one of references.filter(({ onDelete }) => onDelete === 'cascade')) {
      for (const row of data[one.of.name] ?? []) if (leads(one, row)) gone.add(`${one.of.name} ${row.id}`)
    }
  }
  const holding = references.filter(({ onDelete }) => onDelete === 'restrict')
  const holds = (one: (typeof references)[number]) =>
    data[one.of.name]?.some(row => !isGone(one.of.name, row) && leads(one, row))
  if (holding.some(holds)) return undefined
  const cleared = (of: string, row: Row): Row => {
    const emptied = references.filter(one => one.of.name === of && leads(one, row))
    return { ...row, ...Object.fromEntries(emptied.map(({ field }) => [field, null])) }
  }
  return Object.fromEntries(
    Object.entries(data).map(([of, rows]) => [
      of,
      rows.filter(row => !isGone(of, row)).map(row => cleared(of, row)),
    ]),
  )
}
