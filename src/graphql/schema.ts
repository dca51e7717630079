/** The schema of a model, and what each of its names stands for. */
import {
  type GraphQLArgumentConfig,
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigMap,
  GraphQLID,
  type GraphQLInputFieldConfig,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLNullableType,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
} from 'graphql'
import type { Collection, Deprecation, Field, Model, Relation } from '../model/model.ts'
import { isWritable } from '../model/schemas.ts'
import { Leaves } from './leaves.ts'
import { camelCase, Names, orderName, typeName } from './names.ts'
import type { Directory, Member, MutationField, QueryField, SubscriptionField } from './types.ts'

export interface SchemaOptions {
  /** The most items of one list. */
  readonly listBound: number
  /** Fields that only the answer to a create tells, by collection, with a sentence each. */
  readonly revealed: ReadonlyMap<string, Readonly<Record<string, string>>>
}

export interface ModelSchema {
  readonly schema: GraphQLSchema
  readonly directory: Directory
}

/** How many items a list holds when nothing is asked for. */
const DEFAULT_LIMIT = 10

type Field_ = GraphQLFieldConfig<unknown, unknown>
type Fields = GraphQLFieldConfigMap<unknown, unknown>
type Arguments = Record<string, GraphQLArgumentConfig>

const nonNull = <T extends GraphQLNullableType>(type: T) => new GraphQLNonNull(type)

export function createSchema(model: Model, options: SchemaOptions): ModelSchema {
  return new Builder(model, options).build()
}

class Builder {
  readonly #model: Model
  readonly #options: SchemaOptions
  readonly #names: Names
  readonly #leaves: Leaves
  readonly #types = new Map<string, GraphQLObjectType>()
  readonly #connections = new Map<string, GraphQLObjectType>()
  readonly #filters = new Map<string, GraphQLInputObjectType>()
  readonly #orders = new Map<string, GraphQLEnumType>()
  readonly #members = new Map<string, ReadonlyMap<string, Member>>()
  readonly #filterable = new Map<string, ReadonlyMap<string, Field | Relation>>()
  readonly #queries = new Map<string, QueryField>()
  readonly #mutations = new Map<string, MutationField>()
  readonly #subscriptions = new Map<string, SubscriptionField>()
  readonly #pageInfo: GraphQLObjectType

  constructor(model: Model, options: SchemaOptions) {
    this.#model = model
    this.#options = options
    this.#names = new Names(model.collections.values())
    this.#leaves = new Leaves(this.#names)
    this.#pageInfo = pageInfoType(this.#names.free('PageInfo'))
  }

  build(): ModelSchema {
    const collections = [...this.#model.collections.values()]
    for (const collection of collections) this.#addType(collection)
    const schema = new GraphQLSchema({
      query: new GraphQLObjectType({ name: 'Query', fields: this.#queryFields(collections) }),
      mutation: new GraphQLObjectType({ name: 'Mutation', fields: this.#mutationFields(collections) }),
      subscription: new GraphQLObjectType({
        name: 'Subscription',
        fields: this.#subscriptionFields(collections),
      }),
    })
    const typeOf = new Map(collections.map(one => [one.name, typeName(one)]))
    return {
      schema,
      directory: {
        members: this.#members,
        queries: this.#queries,
        mutations: this.#mutations,
        subscriptions: this.#subscriptions,
        typeOf,
        filterable: this.#filterable,
      },
    }
  }

  #collection(name: string): Collection {
    const found = this.#model.collections.get(name)
    if (!found) throw new Error(`there is no collection ${name}`)
    return found
  }

  // --- the types of items

  #type({ name }: Collection): GraphQLObjectType {
    const found = this.#types.get(name)
    if (!found) throw new Error(`there is no type for ${name}`)
    return found
  }

  #addType(collection: Collection): void {
    const { name, description } = collection
    const members = this.#membersOf(collection)
    this.#members.set(typeName(collection), members)
    const fields = () =>
      Object.fromEntries(
        [...members].map(([key, member]) => [key, this.#memberField(collection, member)] as const),
      )
    this.#types.set(name, new GraphQLObjectType({ name: typeName(collection), description, fields }))
    this.#filters.set(name, this.#filterType(collection))
    this.#orders.set(name, orderType(collection))
  }

  /** The fields of a collection's type, in order: its own, what was added to a create's answer, its relations. */
  #membersOf(collection: Collection): ReadonlyMap<string, Member> {
    const members = new Map<string, Member>()
    for (const field of shownFields(collection)) members.set(camelCase(field.name), { kind: 'field', field })
    for (const name of Object.keys(this.#options.revealed.get(collection.name) ?? {})) {
      if (!members.has(camelCase(name))) members.set(camelCase(name), { kind: 'revealed', name })
    }
    const relations = [...collection.relations.values()].filter(relation =>
      this.#isShown(relation, collection),
    )
    for (const relation of relations) {
      const target = this.#collection(relation.target)
      members.set(camelCase(relation.name), { kind: 'relation', relation, target })
    }
    for (const relation of relations) {
      const key = `${camelCase(relation.name)}Connection`
      if (relation.kind === 'one' || members.has(key)) continue
      members.set(key, { kind: 'connection', relation, target: this.#collection(relation.target) })
    }
    return members
  }

  /** A relation that hangs on a field nobody may ever see is not shown. */
  #isShown(relation: Relation, collection: Collection): boolean {
    if (relation.kind === 'one') return isShown(collection.fields.get(relation.field))
    if (relation.kind === 'many') return isShown(this.#collection(relation.target).fields.get(relation.field))
    const { fields } = this.#collection(relation.through)
    return isShown(fields.get(relation.from)) && isShown(fields.get(relation.to))
  }

  #memberField(collection: Collection, member: Member): Field_ {
    switch (member.kind) {
      case 'field': {
        const { field } = member
        const type = this.#leaves.type(collection, field)
        return {
          type: isAlways(field) ? nonNull(type) : type,
          description: field.description,
          deprecationReason: reason(field.deprecated),
        }
      }
      case 'revealed':
        return {
          type: GraphQLString,
          description: this.#options.revealed.get(collection.name)?.[member.name],
        }
      case 'connection':
        return {
          type: nonNull(this.#connection(member.target)),
          args: this.#connectionArguments(member.target),
        }
      case 'relation':
        return this.#relationField(collection, member.relation, member.target)
    }
  }

  #relationField(collection: Collection, relation: Relation, target: Collection): Field_ {
    const type = this.#type(target)
    if (relation.kind !== 'one') {
      const { listBound } = this.#options
      return { type: listOf(type), args: this.#listArguments(target, listBound) }
    }
    const field = collection.fields.get(relation.field)
    return {
      type: field && isAlways(field) ? nonNull(type) : type,
      description: field?.description,
      deprecationReason: reason(field?.deprecated),
    }
  }

  // --- lists

  #listArguments(target: Collection, limit: number): Arguments {
    const bound = this.#options.listBound
    return {
      limit: {
        type: GraphQLInt,
        default: { value: Math.min(limit, bound) },
        description: `How many items at most; up to ${bound}.`,
      },
      ...this.#choosing(target),
      after: { type: GraphQLString, description: 'Only what follows this cursor of a connection.' },
    }
  }

  #connectionArguments(target: Collection): Arguments {
    const bound = this.#options.listBound
    return {
      first: {
        type: GraphQLInt,
        description: `How many items from the start; up to ${bound}. ${DEFAULT_LIMIT} when neither first nor last is given.`,
      },
      after: { type: GraphQLString, description: 'Only what follows this cursor.' },
      last: { type: GraphQLInt, description: `How many items from the end; up to ${bound}.` },
      before: { type: GraphQLString, description: 'With last: only what stands before this cursor.' },
      ...this.#choosing(target),
    }
  }

  #choosing(target: Collection): Arguments {
    const filter = this.#filters.get(target.name)
    const order = this.#orders.get(target.name)
    if (!filter || !order) throw new Error(`there is no filter for ${target.name}`)
    const search: Arguments =
      target.searchable.length > 0
        ? { search: { type: GraphQLString, description: 'Only what contains all of these words.' } }
        : {}
    return {
      filter: { type: filter, description: 'Only what fulfils this.' },
      orderBy: {
        type: new GraphQLList(new GraphQLNonNull(order)),
        description: 'By these, the first before the next; the id decides among equals.',
      },
      ...search,
    }
  }

  #connection(target: Collection): GraphQLObjectType {
    const known = this.#connections.get(target.name)
    if (known) return known
    const type = this.#type(target)
    const name = typeName(target)
    const edge = new GraphQLObjectType({
      name: `${name}Edge`,
      fields: { cursor: { type: nonNull(GraphQLString) }, node: { type: nonNull(type) } },
    })
    const made = new GraphQLObjectType({
      name: `${name}Connection`,
      fields: {
        edges: { type: listOf(edge) },
        nodes: { type: listOf(type) },
        pageInfo: { type: nonNull(this.#pageInfo) },
        totalCount: {
          type: nonNull(GraphQLInt),
          description: 'How many items there are, whatever first, last, after and before say.',
        },
      },
    })
    this.#connections.set(target.name, made)
    return made
  }

  #filterType(collection: Collection): GraphQLInputObjectType {
    const filterable = new Map<string, Field | Relation>()
    for (const field of shownFields(collection)) {
      if (field.type.operators.length > 0) filterable.set(camelCase(field.name), field)
    }
    for (const relation of collection.relations.values()) {
      if (this.#isShown(relation, collection)) filterable.set(camelCase(relation.name), relation)
    }
    this.#filterable.set(collection.name, filterable)
    const type: GraphQLInputObjectType = new GraphQLInputObjectType({
      name: `${typeName(collection)}Filter`,
      description: 'All that is asked must hold.',
      fields: () => ({
        ...Object.fromEntries(
          [...filterable].map(([key, one]) => [key, this.#filterField(collection, one)] as const),
        ),
        and: { type: new GraphQLList(new GraphQLNonNull(type)), description: 'All of these hold.' },
        or: { type: new GraphQLList(new GraphQLNonNull(type)), description: 'At least one of these holds.' },
        not: { type, description: 'This does not hold.' },
      }),
    })
    return type
  }

  #filterField(collection: Collection, one: Field | Relation): GraphQLInputFieldConfig {
    if (!('kind' in one)) {
      const deprecationReason = reason(one.deprecated)
      return { type: this.#leaves.filter(collection, one), description: one.description, deprecationReason }
    }
    const type = this.#filters.get(one.target)
    if (!type) throw new Error(`there is no filter for ${one.target}`)
    const description =
      one.kind === 'one' ? 'The item fulfils this.' : 'At least one of the items fulfils this.'
    return { type, description }
  }

  // --- operations

  #queryFields(collections: readonly Collection[]): Fields {
    const fields: Fields = {}
    const add = (name: string, meaning: QueryField, config: Field_) => {
      if (this.#queries.has(name)) return
      this.#queries.set(name, meaning)
      fields[name] = config
    }
    const id = { id: { type: nonNull(GraphQLID) } }
    for (const collection of collections) {
      const { name, singular } = collection
      const deprecationReason = reason(collection.deprecated)
      const type = this.#type(collection)
      add(camelCase(singular), { kind: 'item', collection }, { type, args: id, deprecationReason })
      const args = this.#listArguments(collection, DEFAULT_LIMIT)
      add(camelCase(name), { kind: 'list', collection }, { type: listOf(type), args, deprecationReason })
    }
    for (const collection of collections) {
      const type = nonNull(this.#connection(collection))
      const args = this.#connectionArguments(collection)
      const deprecationReason = reason(collection.deprecated)
      const name = `${camelCase(collection.name)}Connection`
      add(name, { kind: 'connection', collection }, { type, args, deprecationReason })
    }
    const users = this.#collection('users')
    const description = 'The signed-in user.'
    add('me', { kind: 'me', collection: users }, { type: this.#type(users), description })
    add('rateLimit', { kind: 'rateLimit' }, this.#rateLimit())
    return fields
  }

  #rateLimit(): Field_ {
    return {
      description: 'What this request cost, and what is left of the budget; null when there is no limit.',
      type: new GraphQLObjectType({
        name: this.#names.free('RateLimit'),
        fields: {
          limit: { type: nonNull(GraphQLInt), description: 'What may be spent in each window.' },
          cost: { type: nonNull(GraphQLInt), description: 'The points of this operation.' },
          remaining: { type: nonNull(GraphQLInt), description: 'What is left in this window.' },
          resetAt: {
            type: nonNull(GraphQLInt),
            description: 'When the next window begins, in Unix seconds.',
          },
        },
      }),
    }
  }

  #mutationFields(collections: readonly Collection[]): Fields {
    const fields: Fields = {}
    for (const collection of collections) {
      const type = this.#type(collection)
      const name = typeName(collection)
      const deprecationReason = reason(collection.deprecated)
      const id = { id: { type: nonNull(GraphQLID) } }
      const add = (kind: MutationField['kind'], config: Field_) => {
        const verb = { create: 'create', update: 'update', delete: 'delete' }[kind]
        this.#mutations.set(verb + name, { kind, collection })
        fields[verb + name] = { ...config, deprecationReason }
      }
      add('create', { type: nonNull(type), args: this.#valueArguments(collection, 'create') })
      add('update', {
        type,
        args: { ...id, ...this.#valueArguments(collection, 'merge') },
        description: 'Changes what is given; what is left out stays as it is.',
      })
      add('delete', { type: GraphQLID, args: id, description: 'The id of the item that is gone.' })
    }
    return fields
  }

  #valueArguments(collection: Collection, mode: 'create' | 'merge'): Arguments {
    const fields = [...collection.fields.values()].filter(field => isWritable(field, mode))
    return Object.fromEntries(
      fields.map(field => [camelCase(field.name), this.#valueArgument(collection, field, mode)]),
    )
  }

  #valueArgument(collection: Collection, field: Field, mode: 'create' | 'merge'): GraphQLArgumentConfig {
    const type = this.#leaves.type(collection, field)
    const { description } = field
    const needed = !field.optional && (field.default === undefined || field.reference !== undefined)
    if (mode === 'create' && needed) return { type: new GraphQLNonNull(type), description }
    return { type, description, deprecationReason: reason(field.deprecated) }
  }

  #subscriptionFields(collections: readonly Collection[]): Fields {
    const fields: Fields = {}
    for (const collection of collections) {
      const name = typeName(collection)
      const type = nonNull(this.#type(collection))
      const deprecationReason = reason(collection.deprecated)
      const names = {
        created: `new${name}`,
        updated: `${camelCase(collection.singular)}Updated`,
        deleted: `${camelCase(collection.singular)}Deleted`,
      }
      for (const kind of ['created', 'updated', 'deleted'] as const) {
        if (this.#subscriptions.has(names[kind])) continue
        this.#subscriptions.set(names[kind], { kind, collection })
        fields[names[kind]] = { type, deprecationReason }
      }
    }
    return fields
  }
}

function shownFields(collection: Collection): readonly Field[] {
  return [...collection.fields.values()].filter(isShown)
}

function isShown(field: Field | undefined): boolean {
  return field !== undefined && !field.internal && !field.writeOnly
}

/** Whether the field has a value for everyone who may see the row. */
function isAlways(field: Field): boolean {
  return !field.optional && field.access.read.kind === 'anyone'
}

function listOf(type: GraphQLObjectType) {
  return nonNull(new GraphQLList(nonNull(type)))
}

function orderType(collection: Collection): GraphQLEnumType {
  const values = shownFields(collection)
    .filter(field => field.type.sortable)
    .flatMap(({ name: field, deprecated }) =>
      [false, true].map(descending => {
        const deprecationReason = reason(deprecated)
        return [orderName(field, descending), { value: { field, descending }, deprecationReason }] as const
      }),
    )
  return new GraphQLEnumType({
    name: `${typeName(collection)}OrderBy`,
    values: Object.fromEntries(values),
  })
}

function pageInfoType(name: string): GraphQLObjectType {
  return new GraphQLObjectType({
    name,
    fields: {
      hasNextPage: { type: nonNull(GraphQLBoolean) },
      hasPreviousPage: { type: nonNull(GraphQLBoolean) },
      startCursor: { type: GraphQLString },
      endCursor: { type: GraphQLString },
    },
  })
}

function reason(deprecated: Deprecation | undefined): string | undefined {
  if (!deprecated) return undefined
  const { since, sunset, reason: why } = deprecated
  const until = sunset === undefined ? '' : ` Stops working ${sunset}.`
  return `Deprecated since ${since}.${until}${why === undefined ? '' : ` ${why}`}`
}
