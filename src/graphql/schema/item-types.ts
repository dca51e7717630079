/** The types of a model's items: their fields, lists and connections, and the inputs that filter lists. */
import {
  type GraphQLEnumType,
  GraphQLID,
  type GraphQLInputFieldConfig,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLInterfaceType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from 'graphql'
import type { Collection, Field, Model, Relation } from '../../model/model.ts'
import { maxSearchCharacters, maxSearchTerms } from '../../plan/text-search.ts'
import type { Member } from './directory.ts'
import type { LeafTypes } from './leaf-types.ts'
import { orderType, pageInfoType } from './list-types.ts'
import { camelCase, type Names, typeName } from './names.ts'
import {
  type Arguments,
  defaultLimit,
  isAlways,
  isShown,
  listOf,
  nonNull,
  reason,
  type SchemaField,
  shownFields,
} from './parts.ts'

export interface SchemaOptions {
  /** The most items of one list. */
  readonly listBound: number
  /** Fields that only the reply to a create reveals, with a description each, by collection. */
  readonly revealed: ReadonlyMap<string, Readonly<Record<string, string>>>
}

export class ItemTypes {
  readonly #model: Model
  readonly #options: SchemaOptions
  readonly #leafTypes: LeafTypes
  readonly #types = new Map<string, GraphQLObjectType>()
  readonly #connections = new Map<string, GraphQLObjectType>()
  readonly #filters = new Map<string, GraphQLInputObjectType>()
  readonly #orders = new Map<string, GraphQLEnumType>()
  readonly #pageInfo: GraphQLObjectType
  readonly node: GraphQLInterfaceType
  /** By type, then by field. */
  readonly members = new Map<string, ReadonlyMap<string, Member>>()
  /** The model's field or relation for each field of a filter, by collection. */
  readonly filterable = new Map<string, ReadonlyMap<string, Field | Relation>>()

  constructor(model: Model, options: SchemaOptions, names: Names, leafTypes: LeafTypes) {
    this.#model = model
    this.#options = options
    this.#leafTypes = leafTypes
    this.#pageInfo = pageInfoType(names.free('PageInfo'))
    this.node = nodeType(names.free('Node'))
    for (const collection of model.collections.values()) this.#addType(collection)
  }

  /** The most items of one list. */
  get listBound(): number {
    return this.#options.listBound
  }

  collection(name: string): Collection {
    const found = this.#model.collections.get(name)
    if (!found) throw new Error(`there is no collection ${name}`)
    return found
  }

  type({ name }: Collection): GraphQLObjectType {
    const found = this.#types.get(name)
    if (!found) throw new Error(`there is no type for ${name}`)
    return found
  }

  /** The collections whose types are nodes, by type. */
  nodes(): ReadonlyMap<string, Collection> {
    const all = [...this.#model.collections.values()].map(one => [typeName(one), one] as const)
    return new Map(all.filter(([type]) => this.members.get(type)?.get(nodeIdName)?.kind === 'nodeId'))
  }

  #addType(collection: Collection): void {
    const { name, description } = collection
    const members = this.#membersOf(collection)
    this.members.set(typeName(collection), members)
    const fields = () =>
      Object.fromEntries(
        [...members].map(([key, member]) => [key, this.#memberField(collection, member)] as const),
      )
    const interfaces = members.get(nodeIdName)?.kind === 'nodeId' ? [this.node] : []
    const type = new GraphQLObjectType({ name: typeName(collection), description, interfaces, fields })
    this.#types.set(name, type)
    this.#filters.set(name, this.#filterType(collection))
    this.#orders.set(name, orderType(collection))
  }

  /** The fields of a collection's type, in order: the model's, those that a create reveals, `nodeId`, relations. */
  #membersOf(collection: Collection): ReadonlyMap<string, Member> {
    const members = new Map<string, Member>()
    for (const field of shownFields(collection)) members.set(camelCase(field.name), { kind: 'field', field })
    for (const name of Object.keys(this.#options.revealed.get(collection.name) ?? {})) {
      if (!members.has(camelCase(name))) members.set(camelCase(name), { kind: 'revealed', name })
    }
    if (!members.has(nodeIdName)) members.set(nodeIdName, { kind: 'nodeId' })
    const relations = [...collection.relations.values()].filter(relation =>
      this.#isShown(relation, collection),
    )
    for (const relation of relations) {
      const target = this.collection(relation.target)
      members.set(camelCase(relation.name), { kind: 'relation', relation, target })
    }
    for (const relation of relations) {
      const key = `${camelCase(relation.name)}Connection`
      if (relation.kind === 'one' || members.has(key)) continue
      members.set(key, { kind: 'connection', relation, target: this.collection(relation.target) })
    }
    return members
  }

  /** Hides relations whose fields nobody may see. */
  #isShown(relation: Relation, collection: Collection): boolean {
    if (relation.kind === 'one') return isShown(collection.fields.get(relation.field))
    if (relation.kind === 'many') return isShown(this.collection(relation.target).fields.get(relation.field))
    const { fields } = this.collection(relation.through)
    return isShown(fields.get(relation.from)) && isShown(fields.get(relation.to))
  }

  #memberField(collection: Collection, member: Member): SchemaField {
    switch (member.kind) {
      case 'field': {
        const { field } = member
        const type = this.#leafTypes.type(collection, field)
        return {
          type: isAlways(field) ? nonNull(type) : type,
          description: field.description,
          deprecationReason: reason(field.deprecated),
        }
      }
      case 'nodeId':
        return nodeIdField
      case 'revealed':
        return {
          type: GraphQLString,
          description: this.#options.revealed.get(collection.name)?.[member.name],
        }
      case 'connection':
        return {
          type: nonNull(this.connection(member.target)),
          args: this.connectionArguments(member.target),
        }
      case 'relation':
        return this.#relationField(collection, member.relation, member.target)
    }
  }

  #relationField(collection: Collection, relation: Relation, target: Collection): SchemaField {
    const type = this.type(target)
    if (relation.kind !== 'one') {
      const { listBound } = this.#options
      return { type: listOf(type), args: this.listArguments(target, listBound) }
    }
    const field = collection.fields.get(relation.field)
    return {
      type: field && isAlways(field) ? nonNull(type) : type,
      description: field?.description,
      deprecationReason: reason(field?.deprecated),
    }
  }

  listArguments(target: Collection, limit: number): Arguments {
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

  connectionArguments(target: Collection): Arguments {
    const bound = this.#options.listBound
    return {
      first: {
        type: GraphQLInt,
        description: `How many items from the start; up to ${bound}. ${defaultLimit} when neither first nor last is given.`,
      },
      after: { type: GraphQLString, description: 'Only what follows this cursor.' },
      last: { type: GraphQLInt, description: `How many items from the end; up to ${bound}.` },
      before: { type: GraphQLString, description: 'With last: only what stands before this cursor.' },
      ...this.#choosing(target),
    }
  }

  /** Of aggregates: which items count. */
  filterArguments(target: Collection): Arguments {
    const { orderBy: _, ...others } = this.#choosing(target)
    return others
  }

  #choosing(target: Collection): Arguments {
    const filter = this.#filters.get(target.name)
    const order = this.#orders.get(target.name)
    if (!filter || !order) throw new Error(`there is no filter for ${target.name}`)
    const search: Arguments =
      target.searchable.length > 0
        ? {
            search: {
              type: GraphQLString,
              description: `Only what contains all of these words; at most ${maxSearchTerms}, in ${maxSearchCharacters} characters.`,
            },
          }
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

  connection(target: Collection): GraphQLObjectType {
    const known = this.#connections.get(target.name)
    if (known) return known
    const type = this.type(target)
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
    this.filterable.set(collection.name, filterable)
    const type: GraphQLInputObjectType = new GraphQLInputObjectType({
      name: `${typeName(collection)}Filter`,
      description: 'All conditions must hold.',
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
      return {
        type: this.#leafTypes.filter(collection, one),
        description: one.description,
        deprecationReason,
      }
    }
    const type = this.#filters.get(one.target)
    if (!type) throw new Error(`there is no filter for ${one.target}`)
    const description =
      one.kind === 'one' ? 'The item fulfils this.' : 'At least one of the items fulfils this.'
    return { type, description }
  }
}

const nodeIdName = 'nodeId'

const nodeIdField = {
  type: nonNull(GraphQLID),
  description: 'Names the item among those of all types. `node` finds it by this.',
}

function nodeType(name: string): GraphQLInterfaceType {
  return new GraphQLInterfaceType({
    name,
    description: 'An item, whatever its type.',
    fields: { [nodeIdName]: nodeIdField },
  })
}
