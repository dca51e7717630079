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
import { ApiError } from '../../../src/base/errors.ts'
import type { Principal } from '../../../src/base/principal.ts'
import { cursorsOf } from '../../../src/engine/plan/cursor.ts'
import { type TotalOrder, totalOrder } from '../../../src/engine/plan/order.ts'
import type { Filter, Plan, Sort, WriteShape } from '../../../src/engine/plan/plan.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Collection, Model, Relation } from '../../../src/model/model.ts'
import { suggest } from '../../../src/model/suggest.ts'
import {
  canRead,
  compareKeys,
  type Data,
  Evaluation,
  type Row,
  writeReference,
} from '../../engine/plan/reference.ts'
import type { GeneratedOperation } from './random-document.ts'

interface RootArguments extends ListArguments {
  readonly id?: string
  readonly nodeId?: string
}

interface Item {
  readonly collection: Collection
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
  return answerOf(new Resolver(context.model, context.data, context.who, new Map()), context, operation)
}

/**
 * The reply to mutations, and all rows afterwards; undefined when they deleted the caller's own account.
 * `created`: the ids of the created items in order, by collection.
 */
export function naiveMutation(
  context: NaiveContext,
  operation: GeneratedOperation,
  created: ReadonlyMap<string, readonly number[]>,
): { readonly reply: NaiveReply; readonly data: Data } | undefined {
  const resolver = new Resolver(context.model, context.data, context.who, created)
  const reply = answerOf(resolver, context, operation)
  return resolver.callerIsDeleted ? undefined : { reply, data: resolver.data }
}

function answerOf(
  resolver: Resolver,
  { schema }: NaiveContext,
  { source, variables }: GeneratedOperation,
): NaiveReply {
  const result = execute({
    schema,
    document: parse(source),
    variableValues: variables,
    typeResolver: item => typeNameOf((item as Item).collection),
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
  readonly #created: Map<string, readonly number[]>
  data: Data
  /** Whether the caller's own account was deleted. */
  callerIsDeleted = false

  constructor(model: Model, data: Data, who: Principal, created: ReadonlyMap<string, readonly number[]>) {
    this.#model = model
    this.data = data
    this.#who = who
    this.#created = new Map(created)
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
    const collection = collections.find(({ singular }) => singular === snake(name))
    if (collection) return this.#item(collection, Number(args.id))
    const list = collections.find(collection => collection.name === snake(name))
    if (list) {
      this.#mustRead(list)
      return this.#list(list, this.#context().visible(list), { ...args, limit: args.limit ?? 10 })
    }
    const target = this.#collection(snake(name).replace(/_connection$/, ''))
    this.#mustRead(target)
    return this.#connection(target, this.#context().visible(target), args)
  }

  #item(collection: Collection, id: number | null): Item | null {
    this.#mustRead(collection)
    const row = this.#context()
      .visible(collection)
      .find(other => other.id === id)
    return row ? { collection, row } : null
  }

  #node(nodeId: string): Item | null {
    const [type, id, ...more] = nodeId.split(':')
    const collection = [...this.#model.collections.values()].find(
      collection => typeNameOf(collection) === type,
    )
    return collection ? this.#item(collection, more.length === 0 ? Number(id) : 0) : null
  }

  #member({ collection, row }: Item, args: ListArguments, name: string): unknown {
    const plain = snake(name)
    if (name === 'nodeId') return `${typeNameOf(collection)}:${row.id}`
    if (collection.fields.has(plain)) return this.#field(collection, row, plain)
    // Only the reply to a create contains it.
    if (plain === 'key' || plain === 'client_secret') return null
    const isConnection = !collection.relations.has(plain)
    const relation = collection.relations.get(isConnection ? plain.replace(/_connection$/, '') : plain)
    if (!relation) throw new Error(`no ${collection.name}.${name}`)
    this.#mustReach(collection, relation)
    const target = this.#collection(relation.target)
    const rows = this.#context().readableRows(collection, relation, row)
    if (relation.kind === 'one') return rows[0] ? { collection: target, row: rows[0] } : null
    return isConnection ? this.#connection(target, rows, args) : this.#list(target, rows, args)
  }

  #field(collection: Collection, row: Row, name: string): unknown {
    const context = this.#context()
    if (!context.exists(collection, name)) throw this.#mayNotRead(collection, name)
    const value = context.valueOf(collection, row, name)
    return collection.fields.get(name)?.type.graphql.type === 'ID' && value !== null ? String(value) : value
  }

  // --- mutations

  #mutate(args: object, name: string): unknown {
    const [, verb = '', type = ''] = /^(create|update|delete)(.+)$/.exec(name) ?? []
    const collection = [...this.#model.collections.values()].find(
      ({ singular }) => `_${singular}` === snake(type),
    )
    if (!collection) throw new Error(`no type for ${name}`)
    const { plan, faults } = planOf(verb, collection, { ...args })
    const before = this.data
    const [nextId, ...later] = this.#created.get(collection.name) ?? []
    const result = writeReference(this.#model, before, this.#who, plan, nextId)
    if ('errors' in result) {
      // A default may refer to a deleted item: a second error, and either may be reported.
      const isDangling =
        verb === 'create' && !hasValidReferences(before, collection, defaultsOf(collection, args))
      throw new WriteRefused([...result.errors, ...faults, ...(isDangling ? ['VALIDATION_FAILED'] : [])])
    }
    if (faults.length > 0) throw new WriteRefused(faults)
    if (verb === 'delete') {
      const remaining = withoutRow(this.#model, before, collection, result.id)
      if (!remaining) throw new WriteRefused(['CONFLICT'])
      this.data = remaining
      const { userId } = this.#who
      this.callerIsDeleted ||= userId !== null && !remaining.users?.some(row => row.id === userId)
      return String(result.id)
    }
    const row = result.data[collection.name]?.find(other => other.id === result.id)
    if (row && !hasValidReferences(result.data, collection, row))
      throw new WriteRefused(['VALIDATION_FAILED'])
    if (verb === 'create') this.#created.set(collection.name, later)
    this.data = result.data
    if (row && canRead(this.#model, this.data, this.#who, collection, row)) return { collection, row }
    if (verb === 'update') return null
    throw new ApiError(
      'NOT_FOUND',
      `Item ${result.id} of ${collection.name} was created, but you may not see it.`,
    )
  }

  // --- lists

  #matching(collection: Collection, rows: readonly Row[], { filter, orderBy, search }: ListArguments): Row[] {
    const values: JsonValue[] = [search ?? null]
    const expected = filter ? this.#filter(collection, filter, values) : undefined
    const context = this.#context(values)
    const isSearch = typeof search === 'string'
    if (isSearch && context.searchFields(collection).length === 0) {
      throw new ApiError('BAD_REQUEST', `There is nothing to search in ${collection.name}.`)
    }
    const sort = orderOf(orderBy)
    for (const { field } of sort) this.#mustKnow(collection, field)
    return context.sortRows(
      rows.filter(
        row => context.fulfils(expected, collection, row) && (!isSearch || context.finds(0, collection, row)),
      ),
      sort,
      collection,
    )
  }

  /** The rows after the position, or before it. */
  #rowsBeyond(
    collection: Collection,
    rows: readonly Row[],
    { orderBy, after, before }: ListArguments,
  ): readonly Row[] {
    const cursor = after ?? before
    if (typeof cursor !== 'string') return rows
    const sort = orderOf(orderBy)
    const position = cursorsOf(collection, sort).decode(cursor)
    const side = typeof after === 'string' ? 1 : -1
    return rows.filter(
      row => side * compareKeys(this.#context().keys(sort, collection, row), position, sort) > 0,
    )
  }

  #list(collection: Collection, rows: readonly Row[], args: ListArguments): Item[] {
    return this.#rowsBeyond(collection, this.#matching(collection, rows, args), args)
      .slice(0, args.limit ?? 100)
      .map(row => ({ collection, row }))
  }

  #connection(collection: Collection, rows: readonly Row[], args: ListArguments): unknown {
    const sort = orderOf(args.orderBy)
    const all = this.#matching(collection, rows, args)
    const matching = this.#rowsBeyond(collection, all, args)
    const size = args.last ?? args.first ?? 10
    const page =
      typeof args.last === 'number' ? matching.slice(-size || matching.length) : matching.slice(0, size)
    const cursors = cursorsOf(collection, sort)
    const edges = page.map(row => ({
      cursor: cursors.encode(this.#context().keys(sort, collection, row)),
      node: { collection, row },
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

  #filter(collection: Collection, input: FilterInput, values: JsonValue[]): Filter {
    const filters = Object.entries(input).map(([key, value]): Filter => {
      if (key === 'not') return { kind: 'not', part: this.#filter(collection, value as FilterInput, values) }
      if (key === 'and' || key === 'or') {
        const parts = (value as FilterInput[]).map(part => this.#filter(collection, part, values))
        return { kind: key, parts }
      }
      const name = snake(key)
      const relation = collection.relations.get(name)
      if (relation) {
        if (!this.#knows(collection, relation)) throw this.#unknown('relation', name, collection)
        this.#mustReach(collection, relation)
        const target = this.#collection(relation.target)
        return { kind: 'related', relation: name, filter: this.#filter(target, value as FilterInput, values) }
      }
      return { kind: 'and', parts: this.#comparisons(collection, name, value as FilterInput, values) }
    })
    return { kind: 'and', parts: filters }
  }

  #comparisons(collection: Collection, field: string, input: FilterInput, values: JsonValue[]): Filter[] {
    const isId = collection.fields.get(field)?.type.graphql.type === 'ID'
    return Object.entries(input).map(([name, value]): Filter => {
      this.#mustKnow(collection, field)
      const convert = (value: unknown) =>
        (isId && typeof value === 'string' ? Number(value) : value) as JsonValue
      const param = values.push(Array.isArray(value) ? value.map(convert) : convert(value)) - 1
      return { kind: 'compare', field, operator: name === 'isNull' ? 'null' : (snake(name) as 'eq'), param }
    })
  }

  // --- refusals

  #mayNotRead(collection: Collection, name: string): ApiError {
    const { userId, access } = this.#who
    const code = userId === null && access.scopes === 'all' ? 'UNAUTHORIZED' : 'FORBIDDEN'
    return new ApiError(code, `You may not read "${name}" of ${collection.name}.`)
  }

  #mustKnow(collection: Collection, field: string): void {
    if (!this.#context().exists(collection, field)) throw this.#unknown('field', field, collection)
  }

  #unknown(kind: 'field' | 'relation', name: string, collection: Collection): ApiError {
    const context = this.#context()
    const names =
      kind === 'field'
        ? [...collection.fields.keys()].filter(field => context.exists(collection, field))
        : [...collection.relations.values()]
            .filter(relation => this.#knows(collection, relation))
            .map(relation => relation.name)
    const suggestion = suggest(name, names)
    const hint = suggestion === undefined ? '' : ` Did you mean \`${suggestion}\`?`
    return new ApiError(
      'BAD_REQUEST',
      `The request names "${name}", which is not a ${kind} of ${collection.name}.${hint}`,
    )
  }

  #mustRead(collection: Collection): void {
    const context = this.#context()
    context.mustHaveScope('read', collection)
    if (context.errors.size > 0) {
      throw new ApiError('INSUFFICIENT_SCOPE', `This needs the scope read:${collection.singular}.`)
    }
    context.mustBePossible(collection.access.read, collection)
    if (context.errors.has('UNAUTHORIZED')) {
      throw new ApiError('UNAUTHORIZED', `No caller can read ${collection.name} without a credential.`)
    }
    if (context.errors.size === 0) return
    const byItself = `An app may not read ${collection.name} by itself: it needs a user.`
    const message = this.#who.userId === null ? byItself : `You may not read ${collection.name}.`
    throw new ApiError('FORBIDDEN', message)
  }

  /** Whether the fields of the relation exist for the caller. */
  #knows(collection: Collection, relation: Relation): boolean {
    const context = this.#context()
    const target = this.#collection(relation.target)
    if (relation.kind === 'one') return context.exists(collection, relation.field)
    if (relation.kind === 'many') return context.exists(target, relation.field)
    const through = this.#collection(relation.through)
    return context.exists(through, relation.from) && context.exists(through, relation.to)
  }

  #mustReach(collection: Collection, relation: Relation): void {
    if (!this.#knows(collection, relation)) throw this.#mayNotRead(collection, relation.name)
    if (relation.kind === 'manyToMany') this.#mustRead(this.#collection(relation.through))
    this.#mustRead(this.#collection(relation.target))
  }
}

function orderOf(sort: readonly Sort[] | null | undefined): TotalOrder {
  const keys = sort ?? []
  return totalOrder(keys.filter(({ field }, index) => keys.findIndex(key => key.field === field) === index))
}

function planOf(
  verb: string,
  collection: Collection,
  input: Readonly<Record<string, unknown>>,
): { readonly plan: Plan<WriteShape>; readonly faults: readonly string[] } {
  const id = Number(input.id ?? 0)
  const common = { collection: collection.name, ifMatch: undefined, select: [] } as const
  if (verb === 'delete')
    return { plan: { shape: { ...common, kind: 'delete', id: 0 }, args: [id] }, faults: [] }
  const fields = [...collection.fields.values()].filter(
    ({ name }) => name !== 'id' && input[camel(name)] !== undefined,
  )
  const values = fields.map(({ name, type }): JsonValue => {
    // Plain JSON: graphql-js creates objects without a prototype.
    const value: JsonValue = JSON.parse(JSON.stringify(input[camel(name)]))
    if (value === null) return null
    return type.canonical(type.graphql.type === 'ID' ? Number(value) : value)
  })
  const faults = fields.some((field, index) => values[index] === null && !field.optional)
    ? ['VALIDATION_FAILED']
    : []
  const set = fields.map(({ name }, index) => ({ field: name, param: index + 1 }))
  const shape: WriteShape =
    verb === 'create'
      ? { kind: 'create', collection: collection.name, set, computed: [], select: [] }
      : { ...common, kind: 'update', mode: 'merge', id: 0, set }
  return { plan: { shape, args: [id, ...values] }, faults }
}

const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The defaults of a create. */
function defaultsOf(collection: Collection, input: object): Row {
  const missing = [...collection.fields.values()].filter(({ name }) => !Object.hasOwn(input, camel(name)))
  return Object.fromEntries(
    missing.flatMap(({ name, default: standard }) =>
      standard?.kind === 'value' ? [[name, standard.value]] : [],
    ),
  )
}

function hasValidReferences(data: Data, collection: Collection, row: Row): boolean {
  return [...collection.fields.values()].every(({ name, reference }) => {
    const id = row[name] ?? null
    return !reference || id === null || data[reference.target]?.some(target => target.id === id)
  })
}

/** The rows that remain after a deletion; undefined when a remaining row restricts it. */
function withoutRow(model: Model, data: Data, { name }: Collection, id: number): Data | undefined {
  const removed = new Set([`${name} ${id}`])
  const references = [...model.collections.values()].flatMap(collection =>
    [...collection.relations.values()].flatMap(relation =>
      relation.kind === 'one' ? { ...relation, of: collection } : [],
    ),
  )
  const isRemoved = (name: string, row: Row) => removed.has(`${name} ${row.id}`)
  const refersToRemoved = ({ target, field }: (typeof references)[number], row: Row) =>
    row[field] !== null && removed.has(`${target} ${row[field]}`)
  for (let size = 0; size < removed.size; ) {
    size = removed.size
    for (const reference of references.filter(({ onDelete }) => onDelete === 'cascade')) {
      for (const row of data[reference.of.name] ?? [])
        if (refersToRemoved(reference, row)) removed.add(`${reference.of.name} ${row.id}`)
    }
  }
  const restricting = references.filter(({ onDelete }) => onDelete === 'restrict')
  const isRestricted = (reference: (typeof references)[number]) =>
    data[reference.of.name]?.some(
      row => !isRemoved(reference.of.name, row) && refersToRemoved(reference, row),
    )
  if (restricting.some(isRestricted)) return undefined
  const clearReferences = (name: string, row: Row): Row => {
    const cleared = references.filter(
      reference => reference.of.name === name && refersToRemoved(reference, row),
    )
    return { ...row, ...Object.fromEntries(cleared.map(({ field }) => [field, null])) }
  }
  return Object.fromEntries(
    Object.entries(data).map(([name, rows]) => [
      name,
      rows.filter(row => !isRemoved(name, row)).map(row => clearReferences(name, row)),
    ]),
  )
}
