/** Random valid documents for a schema, with variables. */

import {
  type GraphQLArgument,
  GraphQLBoolean,
  type GraphQLEnumType,
  type GraphQLField,
  type GraphQLInputType,
  GraphQLInterfaceType,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
} from 'graphql'
import { cursorsOf } from '../../../src/engine/plan/cursor.ts'
import { totalOrder } from '../../../src/engine/plan/order.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Collection, Model } from '../../../src/model/model.ts'

export interface GeneratedOperation {
  readonly source: string
  readonly variables: Readonly<Record<string, unknown>>
}

type Variables = Readonly<Record<string, unknown>>

/** One document with several sets of variables. */
export interface RandomDocument {
  readonly source: string
  readonly sets: readonly Variables[]
}

/** Arguments that select rows, as opposed to written values. */
const listArguments = new Set(['limit', 'first', 'last', 'filter', 'orderBy', 'search'])

/**
 * An operation may have 200 directives, and those of a fragment count at each spread. Fragments are spread up to twice,
 * one inside another, so this generates at most a fourth of the limit.
 */
const maxDirectives = 45
const maxRepeatedSpreads = 2

const condition = new GraphQLNonNull(GraphQLBoolean)

/** A small random number generator, so that a document follows from one seed. */
function randomSource(seed: number) {
  let state = (seed * 2654435761 + 12345) >>> 0
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  return {
    chance: (probability: number) => next() < probability,
    int: (below: number) => Math.floor(next() * below),
    pick: <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T,
  }
}

class DocumentGenerator {
  readonly #schema: GraphQLSchema
  readonly #random: ReturnType<typeof randomSource>
  readonly #definitions: string[] = []
  readonly #declarations: string[] = []
  readonly #sets: readonly Record<string, unknown>[] = [{}, {}, {}]
  readonly #width: number
  /** The share of nullable arguments that are null. */
  readonly #nullShare: number
  readonly #seed: number
  readonly #model: Model
  #types: ReadonlyMap<string, ReadonlySet<string>> | undefined
  #count = 0
  #directivesLeft = maxDirectives
  #repeatedSpreadsLeft = maxRepeatedSpreads

  constructor(schema: GraphQLSchema, seed: number, nullShare: number, model: Model) {
    this.#schema = schema
    this.#model = model
    this.#seed = seed
    this.#random = randomSource(seed)
    this.#nullShare = nullShare
    this.#width = 1 + this.#random.int(4)
  }

  document(operation: 'query' | 'mutation', root: GraphQLObjectType): RandomDocument {
    const body = this.#selectionSet(root, operation === 'query' ? 4 : 3)
    const declared = this.#declarations.length > 0 ? `(${this.#declarations.join(', ')})` : ''
    return {
      source: [`${operation}${declared} ${body}`, ...this.#definitions].join('\n'),
      sets: this.#declarations.length > 0 ? this.#sets : this.#sets.slice(0, 1),
    }
  }

  #selectionSet(type: GraphQLObjectType | GraphQLInterfaceType, depth: number): string {
    if (type instanceof GraphQLInterfaceType) return this.#abstract(type, depth)
    const size = 1 + this.#random.int(this.#width)
    const parts = Array.from({ length: size }, () => this.#selection(type, depth))
    return `{ ${parts.join(' ')} }`
  }

  /** The fields of the interface, and fields of some of its types. */
  #abstract(type: GraphQLInterfaceType, depth: number): string {
    const types = this.#schema.getImplementations(type).objects
    const parts = Array.from({ length: 1 + this.#random.int(4) }, () => {
      if (this.#random.chance(0.3))
        return this.#random.pick(['__typename', 'nodeId', `... on ${type.name} { nodeId }`])
      const chosenType = this.#random.pick(types)
      return `... on ${chosenType.name}${this.#directives()} ${this.#selectionSet(chosenType, depth)}`
    })
    return `{ ${parts.join(' ')} }`
  }

  #selection(type: GraphQLObjectType, depth: number): string {
    const roll = this.#random.int(21)
    const [shared] = type.getInterfaces()
    if (roll === 20 && shared)
      return `... on ${shared.name}${this.#directives()} ${this.#abstract(shared, depth)}`
    if (roll === 0) return '__typename'
    if (roll === 1) return `...${this.#directives()} ${this.#selectionSet(type, depth)}`
    if (roll === 2) return `... on ${type.name}${this.#directives()} ${this.#selectionSet(type, depth)}`
    if (roll === 3) {
      const name = `F${++this.#count}`
      this.#definitions.push(`fragment ${name} on ${type.name} ${this.#selectionSet(type, depth - 1)}`)
      return `...${name}${this.#directives()}${this.#isRepeated() ? ` ...${name}` : ''}`
    }
    return this.#field(type, depth)
  }

  #field(type: GraphQLObjectType, depth: number): string {
    const fields = Object.values(type.getFields()).filter(
      field =>
        (depth > 0 || isLeafType(getNamedType(field.type))) &&
        !isOtherMutation(type, field.name) &&
        !isAggregate(field),
    )
    const candidates = fields.length > 0 ? fields : []
    const field = candidates.length > 0 ? this.#random.pick(candidates) : undefined
    if (!field) return '__typename'
    const args = this.#arguments(field)
    const inner = getNamedType(field.type)
    const needsAlias = args !== '' || this.#isAmbiguous(field.name)
    const alias = needsAlias || this.#random.chance(0.2) ? `a${++this.#count}: ` : ''
    const head = `${alias}${field.name}${args}`
    if (!(inner instanceof GraphQLObjectType || inner instanceof GraphQLInterfaceType))
      return head + this.#directives()
    const first = `${head}${this.#directives()} ${this.#selectionSet(inner, depth - 1)}`
    return this.#random.chance(0.2) ? `${first} ${head} ${this.#selectionSet(inner, depth - 1)}` : first
  }

  /** Whether types of an interface have different types for the field: selected together, they would conflict. */
  #isAmbiguous(name: string): boolean {
    this.#types ??= typesByName(this.#schema)
    return (this.#types.get(name)?.size ?? 0) > 1
  }

  #isRepeated(): boolean {
    if (this.#repeatedSpreadsLeft === 0 || this.#random.chance(0.7)) return false
    this.#repeatedSpreadsLeft--
    return true
  }

  #directives(): string {
    if (this.#directivesLeft === 0 || this.#random.chance(0.85)) return ''
    this.#directivesLeft--
    const name = this.#random.pick(['skip', 'include'])
    const value = this.#random.chance(0.4)
    return ` @${name}(if: ${this.#random.chance(0.5) ? value : this.#variable(condition, () => this.#random.chance(0.4))})`
  }

  /** Sometimes omits an optional argument. */
  #variable(type: GraphQLInputType, make: () => unknown): string {
    const name = `v${++this.#count}`
    const hasDefault = this.#random.chance(0.25)
    const canBeOmitted = hasDefault || !isNonNullType(type)
    const declared = hasDefault ? `${getNullableType(type)} = ${literal(make(), type)}` : `${type}`
    this.#declarations.push(`$${name}: ${declared}`)
    for (const set of this.#sets) if (!canBeOmitted || this.#random.chance(0.7)) set[name] = make()
    return `$${name}`
  }

  #arguments({ args, type }: GraphQLField<unknown, unknown>): string {
    const names = args.map(arg => arg.name)
    const backward = names.includes('last') && this.#random.chance(0.4)
    const chosen = args.filter(({ name, type }) => {
      if (name === 'after' || name === 'before') return false
      if (name === 'first' || name === 'last') return (name === 'last') === backward
      return isNonNullType(type) || this.#random.chance(0.4)
    })
    const list = chosen.filter(({ name }) => name !== 'orderBy')
    const hasCursor = names.includes('after') && this.#random.chance(0.3)
    if (hasCursor) {
      // `before` needs `last`.
      const others = list
        .filter(({ name }) => name !== 'last')
        .map(arg => `${arg.name}: ${this.#argument(arg)}`)
      const ends = backward ? [`last: ${this.#random.int(5)}`] : []
      const position = this.#position(backward ? 'before' : 'after', getNamedType(type).name)
      return `(${[...others, ...ends, ...position].join(', ')})`
    }
    if (chosen.length === 0) return ''
    return `(${chosen.map(arg => `${arg.name}: ${this.#argument(arg)}`).join(', ')})`
  }

  /** A position in an order, with or without an item. */
  #position(argument: string, type: string): readonly string[] {
    const collection = this.#collectionOf(type)
    const order = this.#schema.getType(`${type.replace(/Connection$/, '')}OrderBy`)
    if (!isEnumType(order)) throw new Error(`${type} has no order`)
    const values = Array.from({ length: this.#random.int(3) }, () => this.#random.pick(ordersOf(order)))
    const fields = values.map(({ value }) => value.field)
    const chosen = values.filter(({ value }, index) => fields.indexOf(value.field) === index)
    const sort = totalOrder(chosen.map(({ value }) => value))
    const keys = sort.map(({ field }) => this.#key(collection, field))
    const cursor = cursorsOf(collection, sort).encode(keys)
    return [`orderBy: [${chosen.map(({ name }) => name).join(', ')}]`, `${argument}: "${cursor}"`]
  }

  #collectionOf(type: string): Collection {
    const singular = type
      .replace(/Connection$/, '')
      .replace(/\B[A-Z]/g, '_$&')
      .toLowerCase()
    const collection = [...this.#model.collections.values()].find(
      collection => collection.singular === singular,
    )
    if (!collection) throw new Error(`no ${type}`)
    return collection
  }

  #key(collection: Collection, name: string): JsonValue {
    if (name === 'id') return 1 + this.#random.int(5)
    const field = collection.fields.get(name)
    if (field?.optional && this.#random.chance(0.2)) return null
    switch (field?.type.encoding.name) {
      case 'number':
        return this.#random.int(4)
      case 'boolean':
        return this.#random.chance(0.5)
      default:
        return this.#random.pick(['a', 'b', 'done', '2026-01-31', '2026-01-31T12:00:00.000Z'])
    }
  }

  #argument({ name, type }: GraphQLArgument): string {
    const make = () => {
      const nullShare = listArguments.has(name) ? 0.1 : this.#nullShare
      if (!isNonNullType(type) && this.#random.chance(nullShare)) return null
      if (name === 'nodeId') return this.#nodeId()
      if (name === 'email') return `m${this.#seed}-${++this.#count}@example.org`
      return ['limit', 'first', 'last'].includes(name) ? this.#random.int(5) : this.#value(type, 2)
    }
    return this.#random.chance(0.5) ? literal(make(), type) : this.#variable(type, make)
  }

  #nodeId(): string {
    if (this.#random.chance(0.1))
      return this.#random.pick(['1', 'Nothing:1', 'Post:', 'Post:1:1', 'post:1', ''])
    const type = this.#random.pick(['User', 'Post', 'Tag', 'PostTag', 'ApiKey'])
    return `${type}:${1 + this.#random.int(5)}`
  }

  /** As JSON, with enum values as strings. */
  #value(type: GraphQLInputType, depth: number): unknown {
    if (isNonNullType(type)) return this.#value(type.ofType, depth)
    if (isListType(type)) {
      return Array.from({ length: this.#random.int(3) }, () => this.#value(type.ofType, depth))
    }
    if (isInputObjectType(type)) {
      // An invalid address is refused before execution.
      const fields = Object.values(type.getFields()).filter(
        field =>
          field.name !== 'email' &&
          field.name !== 'url' &&
          !field.name.endsWith('Uri') &&
          (depth > 0 || !isInputObjectType(innermost(field.type)) || field.name === 'id'),
      )
      const size = this.#random.int(3)
      const chosen = new Set(Array.from({ length: size }, () => this.#random.pick(fields)))
      return Object.fromEntries(
        [...chosen].map(field => [field.name, this.#value(field.type, depth - 1)] as const),
      )
    }
    if (isEnumType(type)) return this.#random.pick(ordersOf(type)).name
    return this.#leaf(type.name)
  }

  #leaf(name: string): unknown {
    switch (name) {
      case 'ID':
        return String(1 + this.#random.int(5))
      case 'Int':
      case 'Float':
        return this.#random.int(4)
      case 'Boolean':
        return this.#random.chance(0.5)
      case 'DateTime':
        return this.#random.pick(['2026-01-31T12:00:00.000Z', '2026-01-31T13:00:00+01:00'])
      case 'Date':
        return '2026-01-31'
      case 'JSON':
        return this.#random.pick([{ a: [1, null, { b: 'x' }] }, {}, 'a', 7, [], false])
      default:
        return this.#random.pick(['a', 'b', 'ab', 'é', ''])
    }
  }
}

function typesByName(schema: GraphQLSchema): ReadonlyMap<string, ReadonlySet<string>> {
  const fields = new Map<string, Set<string>>()
  for (const type of Object.values(schema.getTypeMap())) {
    if (!(type instanceof GraphQLObjectType) || type.getInterfaces().length === 0) continue
    for (const { name, type: fieldType } of Object.values(type.getFields())) {
      fields.set(name, (fields.get(name) ?? new Set()).add(String(fieldType)))
    }
  }
  return fields
}

function innermost(type: GraphQLInputType): GraphQLInputType {
  return isNonNullType(type) || isListType(type) ? innermost(type.ofType) : type
}

/** Mutations of collections outside the random model: keys, apps. */
function isOtherMutation({ name: type }: GraphQLObjectType, name: string): boolean {
  return type === 'Mutation' && !/^(create|update|delete)(User|Post|Tag|PostTag)$/.test(name)
}

/** `test/engine/plan/aggregates.ts` is the reference of aggregates. */
function isAggregate({ type }: { readonly type: GraphQLOutputType }): boolean {
  return getNamedType(type).name.endsWith('Aggregate')
}

/** A JSON value as a GraphQL literal. */
function jsonLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jsonLiteral).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, part]) => `${key}: ${jsonLiteral(part)}`)
  return `{${members.join(', ')}}`
}

function literal(value: unknown, type: GraphQLInputType): string {
  if (value === null) return 'null'
  if (isNonNullType(type)) return literal(value, type.ofType)
  if (isListType(type)) {
    return `[${(value as unknown[]).map(item => literal(item, type.ofType)).join(', ')}]`
  }
  if (isInputObjectType(type)) {
    const fields = Object.entries(value as object).map(([key, part]) => {
      const field = type.getFields()[key]
      return field ? `${key}: ${literal(part, field.type)}` : ''
    })
    return `{${fields.join(', ')}}`
  }
  return isEnumType(type) ? String(value) : jsonLiteral(value)
}

/** RELEVANCE is valid alone and in a search only: `contract/graphql` tests it. */
function ordersOf(type: GraphQLEnumType) {
  return type.getValues().filter(({ name }) => name !== 'RELEVANCE')
}

export function randomDocument(schema: GraphQLSchema, seed: number, model: Model): RandomDocument {
  const query = schema.getQueryType()
  if (!query) throw new Error('the schema has no queries')
  return new DocumentGenerator(schema, seed, 0, model).document('query', query)
}

/** Its values are valid, except for nulls in required fields. */
export function randomMutation(schema: GraphQLSchema, seed: number, model: Model): GeneratedOperation {
  const mutation = schema.getMutationType()
  if (!mutation) throw new Error('the schema has no mutations')
  const { source, sets } = new DocumentGenerator(schema, seed, 0.1, model).document('mutation', mutation)
  return { source, variables: sets[0] ?? {} }
}
