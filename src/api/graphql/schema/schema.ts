/** Creates the schema of a model, and the directory of its names. */
import {
  type GraphQLArgumentConfig,
  type GraphQLFieldConfigMap,
  GraphQLID,
  GraphQLInt,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  getNullableType,
  specifiedDirectives,
} from 'graphql'
import { exists } from '../../../model/crud.ts'
import type { Collection, Field, Model, Operation, Relation } from '../../../model/model.ts'
import { limitsInWords } from '../../../model/rule/rule-text.ts'
import { isOffered } from '../../../model/schemas.ts'
import { type AggregateFields, AggregateTypes } from './aggregate-types.ts'
import { atomicDirective } from './directives.ts'
import type { MutationField, QueryField, SchemaDirectory, SubscriptionField } from './directory.ts'
import { emittedField, emittedType } from './emitted-types.ts'
import { ItemTypes } from './item-types.ts'
import { LeafTypes } from './leaf-types.ts'
import { camelCase, TypeNames, typeName } from './names.ts'
import { operationFields } from './operation-fields.ts'
import {
  type Arguments,
  defaultListLimit,
  deprecationText,
  nonNull,
  nonNullListOf,
  type SchemaField,
} from './parts.ts'

export interface ModelSchema {
  readonly model: Model
  readonly schema: GraphQLSchema
  readonly directory: SchemaDirectory
}

type RootFields = GraphQLFieldConfigMap<unknown, unknown>

/** `listBound`: the maximum number of items of one list. */
export function createSchema(model: Model, listBound: number): ModelSchema {
  const collections = [...model.collections.values()]
  const names = new TypeNames(collections)
  const leafTypes = new LeafTypes(names)
  const types = new ItemTypes(model, listBound, names, leafTypes)
  return { model, ...new Operations(types, names, leafTypes).build(collections, model) }
}

const eventArgument: GraphQLArgumentConfig = {
  type: GraphQLID,
  description:
    'The `eventId` from the `extensions` of the last payload that the client has: later events are sent first.',
}

const subscriptionDescriptions = {
  created: undefined,
  updated: 'Updates that change at least one field that you may read.',
  deleted:
    'Deleted items with their last values, and items that you may no longer read after a change: these have only `id`, `nodeId` and `__typename`.',
} as const

/** The fields of `Query`, `Mutation` and `Subscription`. */
class Operations {
  readonly #types: ItemTypes
  readonly #names: TypeNames
  readonly #leafTypes: LeafTypes
  readonly #queries = new Map<string, QueryField>()
  readonly #aggregates = new Map<string, AggregateFields>()
  readonly #mutations = new Map<string, MutationField>()
  readonly #subscriptions = new Map<string, SubscriptionField>()

  constructor(types: ItemTypes, names: TypeNames, leafTypes: LeafTypes) {
    this.#types = types
    this.#names = names
    this.#leafTypes = leafTypes
  }

  build(collections: readonly Collection[], model: Model): Omit<ModelSchema, 'model'> {
    const schema = new GraphQLSchema({
      directives: [...specifiedDirectives, atomicDirective],
      query: new GraphQLObjectType({ name: 'Query', fields: this.#queryFields(collections, model) }),
      mutation: new GraphQLObjectType({ name: 'Mutation', fields: this.#mutationFields(collections, model) }),
      subscription: new GraphQLObjectType({
        name: 'Subscription',
        fields: this.#subscriptionFields(collections.filter(({ unlogged }) => !unlogged)),
      }),
    })
    const { members, filterable } = this.#types
    return {
      schema,
      directory: {
        members,
        queries: this.#queries,
        mutations: this.#mutations,
        subscriptions: this.#subscriptions,
        typeNames: new Map(collections.map(collection => [collection.name, typeName(collection)])),
        nodes: this.#types.nodes(),
        filterable,
        aggregates: this.#aggregates,
      },
    }
  }

  #queryFields(collections: readonly Collection[], model: Model): RootFields {
    const fields: RootFields = {}
    const add = (name: string, entry: QueryField, config: SchemaField) => {
      if (this.#queries.has(name)) return
      this.#queries.set(name, entry)
      fields[name] = config
    }
    const id = { id: { type: nonNull(GraphQLID) } }
    for (const collection of collections) {
      const { name, singular } = collection
      const deprecationReason = deprecationText(collection.deprecated)
      const type = this.#types.type(collection)
      add(camelCase(singular), { kind: 'item', collection }, { type, args: id, deprecationReason })
      const args = this.#types.listArguments(collection, defaultListLimit)
      add(
        camelCase(name),
        { kind: 'list', collection },
        { type: nonNullListOf(type), args, deprecationReason },
      )
    }
    for (const collection of collections) {
      const type = nonNull(this.#types.connection(collection))
      const args = this.#types.connectionArguments(collection)
      const deprecationReason = deprecationText(collection.deprecated)
      const name = `${camelCase(collection.name)}Connection`
      add(name, { kind: 'connection', collection }, { type, args, deprecationReason })
    }
    this.#addAggregates(collections, add)
    add('node', { kind: 'node' }, this.#node())
    const users = this.#types.collection('users')
    const description = 'The signed-in user.'
    add('me', { kind: 'me', collection: users }, { type: this.#types.type(users), description })
    add('rateLimit', { kind: 'rateLimit' }, this.#rateLimit())
    for (const [name, query, config] of this.#operationFields(model.logic.queries, 'Result')) {
      add(name, { kind: 'query', query }, { ...config, type: getNullableType(config.type) })
    }
    return fields
  }

  #addAggregates(
    collections: readonly Collection[],
    add: (name: string, entry: QueryField, config: SchemaField) => void,
  ): void {
    const types = new Map<string, AggregateTypes>()
    const targetOf = ({ target }: Relation): AggregateTypes => {
      const found = types.get(target)
      if (!found) throw new Error(`there are no aggregates of ${target}`)
      return found
    }
    for (const collection of collections) {
      types.set(collection.name, new AggregateTypes(collection, targetOf, this.#names, this.#leafTypes))
    }
    for (const collection of collections) {
      const aggregate = types.get(collection.name)
      if (!aggregate) continue
      this.#aggregates.set(collection.name, aggregate.fields)
      const args = aggregate.arguments(this.#types.filterArguments(collection), this.#types.listBound)
      const deprecationReason = deprecationText(collection.deprecated)
      const type = nonNullListOf(aggregate.type)
      add(
        `${camelCase(collection.name)}Aggregate`,
        { kind: 'aggregate', collection },
        { type, args, deprecationReason },
      )
    }
  }

  #node(): SchemaField {
    const args = { nodeId: { type: nonNull(GraphQLID) } }
    return { type: this.#types.node, args, description: 'An item of any type, by its `nodeId`.' }
  }

  #rateLimit(): SchemaField {
    return {
      description: 'The cost of this request, and what remains of the budget; null if there is no limit.',
      type: new GraphQLObjectType({
        name: this.#names.reserve('RateLimit'),
        fields: {
          limit: { type: nonNull(GraphQLInt), description: 'The budget for each window.' },
          cost: { type: nonNull(GraphQLInt), description: 'The cost of this operation, in points.' },
          remaining: { type: nonNull(GraphQLInt), description: 'What remains of the budget in this window.' },
          resetAt: {
            type: nonNull(GraphQLInt),
            description: 'When the next window begins, in Unix seconds.',
          },
        },
      }),
    }
  }

  #mutationFields(collections: readonly Collection[], model: Model): RootFields {
    const fields: RootFields = {}
    for (const collection of collections) {
      const type = this.#types.type(collection)
      const name = typeName(collection)
      const deprecationReason = deprecationText(collection.deprecated)
      const id = { id: { type: nonNull(GraphQLID) } }
      const add = (kind: 'create' | 'update' | 'delete', config: SchemaField) => {
        if (!exists(collection, kind)) return
        this.#mutations.set(kind + name, { kind, collection })
        fields[kind + name] = { ...config, deprecationReason }
      }
      const limits = limitsInWords(collection.limits)
      add('create', {
        type: nonNull(type),
        args: this.#valueArguments(collection, 'create'),
        description: limits,
      })
      add('update', {
        type,
        args: { ...id, ...this.#valueArguments(collection, 'merge') },
        description: ['Sets the values that are given, and leaves all others as they are.', limits]
          .filter(text => text !== undefined)
          .join(' '),
      })
      add('delete', { type: GraphQLID, args: id, description: 'Returns the id of the deleted item.' })
    }
    for (const [name, action, config] of this.#operationFields(model.logic.actions, 'Payload')) {
      this.#mutations.set(name, { kind: 'logic', action })
      fields[name] = config
    }
    return fields
  }

  #operationFields<T extends Operation>(operations: ReadonlyMap<string, T>, suffix: 'Payload' | 'Result') {
    return operationFields(operations, {
      suffix,
      ...{ types: this.#types, names: this.#names, leafTypes: this.#leafTypes },
      argumentsOf: collection => this.#valueArguments(collection, 'create'),
    })
  }

  #valueArguments(collection: Collection, mode: 'create' | 'merge'): Arguments {
    const fields = [...collection.fields.values()].filter(field => isOffered(field, mode))
    return Object.fromEntries(
      fields.map(field => [camelCase(field.name), this.#valueArgument(collection, field, mode)]),
    )
  }

  #valueArgument(collection: Collection, field: Field, mode: 'create' | 'merge'): GraphQLArgumentConfig {
    const type = this.#leafTypes.type(collection, field)
    const { description } = field
    const isRequired = !field.optional && (field.default === undefined || field.reference !== undefined)
    if (mode === 'create' && isRequired) return { type: new GraphQLNonNull(type), description }
    return { type, description, deprecationReason: deprecationText(field.deprecated) }
  }

  #subscriptionFields(collections: readonly Collection[]): RootFields {
    const fields: RootFields = {}
    for (const collection of collections) {
      const name = typeName(collection)
      const type = nonNull(this.#types.type(collection))
      const deprecationReason = deprecationText(collection.deprecated)
      const names = {
        created: `new${name}`,
        updated: `${camelCase(collection.singular)}Updated`,
        deleted: `${camelCase(collection.singular)}Deleted`,
      }
      for (const kind of ['created', 'updated', 'deleted'] as const) {
        if (this.#subscriptions.has(names[kind])) continue
        this.#subscriptions.set(names[kind], { kind, collection })
        fields[names[kind]] = {
          type,
          args: { after: eventArgument },
          description: subscriptionDescriptions[kind],
          deprecationReason,
        }
      }
    }
    for (const collection of collections) this.#addEmitted(collection, fields)
    return fields
  }

  #addEmitted(collection: Collection, fields: RootFields): void {
    for (const event of collection.emits?.values() ?? []) {
      const name = emittedField(event)
      this.#subscriptions.set(name, { kind: 'emitted', collection, event })
      const type = emittedType(collection, event, {
        ...{ names: this.#names, leafTypes: this.#leafTypes },
        itemType: item => this.#types.type(item),
      })
      const { description } = event
      fields[name] = { type: nonNull(type), args: { after: eventArgument }, description }
    }
  }
}
