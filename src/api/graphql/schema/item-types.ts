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
import { maxSearchCharacters, maxSearchTerms } from '../../../engine/plan/text-search.ts'
import { revealedSecrets } from '../../../model/builtin/revealed.ts'
import type { Collection, Field, Model, Relation } from '../../../model/model.ts'
import type { Member } from './directory.ts'
import type { LeafTypes } from './leaf-types.ts'
import { orderType, pageInfoType } from './list-types.ts'
import { camelCase, type TypeNames, typeName } from './names.ts'
import {
  type Arguments,
  alwaysHasValue,
  defaultListLimit,
  deprecationText,
  isVisible,
  nonNull,
  nonNullListOf,
  type SchemaField,
  visibleFields,
} from './parts.ts'

export class ItemTypes {
  readonly #model: Model
  readonly #leafTypes: LeafTypes
  /** The maximum number of items of one list. */
  readonly listBound: number
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

  constructor(model: Model, listBound: number, names: TypeNames, leafTypes: LeafTypes) {
    this.#model = model
    this.listBound = listBound
    this.#leafTypes = leafTypes
    this.#pageInfo = pageInfoType(names.reserve('PageInfo'))
    this.node = nodeType(names.reserve('Node'))
    for (const collection of model.collections.values()) this.#addType(collection)
  }

  collection(name: string): Collection {
    const collection = this.#model.collections.get(name)
    if (!collection) throw new Error(`there is no collection ${name}`)
    return collection
  }

  type({ name }: Collection): GraphQLObjectType {
    const type = this.#types.get(name)
    if (!type) throw new Error(`there is no type for ${name}`)
    return type
  }

  /** The collections whose types are nodes, by type. */
  nodes(): ReadonlyMap<string, Collection> {
    const byType = [...this.#model.collections.values()].map(
      collection => [typeName(collection), collection] as const,
    )
    return new Map(byType.filter(([type]) => this.members.get(type)?.get(nodeIdName)?.kind === 'nodeId'))
  }

  #addType(collection: Collection): void {
    const { name, description } = collection
    const members = this.#createMembers(collection)
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
  #createMembers(collection: Collection): ReadonlyMap<string, Member> {
    const members = new Map<string, Member>()
    for (const field of visibleFields(collection))
      members.set(camelCase(field.name), { kind: 'field', field })
    for (const name of Object.keys(revealedSecrets.get(collection.name) ?? {})) {
      if (!members.has(camelCase(name))) members.set(camelCase(name), { kind: 'revealed', name })
    }
    if (!members.has(nodeIdName)) members.set(nodeIdName, { kind: 'nodeId' })
    const relations = [...collection.relations.values()].filter(relation =>
      this.#isVisible(relation, collection),
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

  /** Hides relations whose fields no caller can see. */
  #isVisible(relation: Relation, collection: Collection): boolean {
    if (relation.kind === 'one') return isVisible(collection.fields.get(relation.field))
    if (relation.kind === 'many')
      return isVisible(this.collection(relation.target).fields.get(relation.field))
    const { fields } = this.collection(relation.through)
    return isVisible(fields.get(relation.from)) && isVisible(fields.get(relation.to))
  }

  #memberField(collection: Collection, member: Member): SchemaField {
    switch (member.kind) {
      case 'field': {
        const { field } = member
        const type = this.#leafTypes.output(collection, field)
        return {
          type: alwaysHasValue(field) ? nonNull(type) : type,
          description: field.description,
          deprecationReason: deprecationText(field.deprecated),
        }
      }
      case 'nodeId':
        return nodeIdField
      case 'revealed':
        return {
          type: GraphQLString,
          description: revealedSecrets.get(collection.name)?.[member.name],
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
      const { listBound } = this
      return { type: nonNullListOf(type), args: this.listArguments(target, listBound) }
    }
    const field = collection.fields.get(relation.field)
    return {
      type: field && alwaysHasValue(field) ? nonNull(type) : type,
      description: field?.description,
      deprecationReason: deprecationText(field?.deprecated),
    }
  }

  listArguments(target: Collection, limit: number): Arguments {
    const { listBound } = this
    return {
      limit: {
        type: GraphQLInt,
        default: { value: Math.min(limit, listBound) },
        description: `The maximum number of items, up to ${listBound}.`,
      },
      ...this.#rowArguments(target),
      after: { type: GraphQLString, description: 'Only the items after this cursor of a connection.' },
    }
  }

  connectionArguments(target: Collection): Arguments {
    const { listBound } = this
    return {
      first: {
        type: GraphQLInt,
        description: `The number of items from the start, up to ${listBound}. ${defaultListLimit} if neither first nor last is given.`,
      },
      after: { type: GraphQLString, description: 'Only the items after this cursor.' },
      last: { type: GraphQLInt, description: `The number of items from the end, up to ${listBound}.` },
      before: { type: GraphQLString, description: 'With last: only the items before this cursor.' },
      ...this.#rowArguments(target),
    }
  }

  /** The arguments of aggregates that decide which items count. */
  filterArguments(target: Collection): Arguments {
    const { orderBy: _, ...others } = this.#rowArguments(target)
    return others
  }

  #rowArguments(target: Collection): Arguments {
    const filter = this.#filters.get(target.name)
    const order = this.#orders.get(target.name)
    if (!filter || !order) throw new Error(`there is no filter for ${target.name}`)
    const search: Arguments =
      target.searchable.length > 0
        ? {
            search: {
              type: GraphQLString,
              description: `Only the items that contain all of these words: at most ${maxSearchTerms}, in ${maxSearchCharacters} characters.`,
            },
          }
        : {}
    return {
      filter: { type: filter, description: 'Only the items that match this filter.' },
      orderBy: {
        type: new GraphQLList(new GraphQLNonNull(order)),
        description: 'Sort keys, in order of precedence. Ties are broken by the id.',
      },
      ...search,
    }
  }

  connection(target: Collection): GraphQLObjectType {
    const cached = this.#connections.get(target.name)
    if (cached) return cached
    const type = this.type(target)
    const name = typeName(target)
    const edge = new GraphQLObjectType({
      name: `${name}Edge`,
      fields: { cursor: { type: nonNull(GraphQLString) }, node: { type: nonNull(type) } },
    })
    const connection = new GraphQLObjectType({
      name: `${name}Connection`,
      fields: {
        edges: { type: nonNullListOf(edge) },
        nodes: { type: nonNullListOf(type) },
        pageInfo: { type: nonNull(this.#pageInfo) },
        totalCount: {
          type: nonNull(GraphQLInt),
          description: 'The total number of items, regardless of first, last, after and before.',
        },
      },
    })
    this.#connections.set(target.name, connection)
    return connection
  }

  #filterType(collection: Collection): GraphQLInputObjectType {
    const filterable = new Map<string, Field | Relation>()
    for (const field of visibleFields(collection)) {
      if (field.type.operators.length > 0) filterable.set(camelCase(field.name), field)
    }
    for (const relation of collection.relations.values()) {
      if (this.#isVisible(relation, collection)) filterable.set(camelCase(relation.name), relation)
    }
    this.filterable.set(collection.name, filterable)
    const type: GraphQLInputObjectType = new GraphQLInputObjectType({
      name: `${typeName(collection)}Filter`,
      description: 'All conditions must hold.',
      fields: () => ({
        ...Object.fromEntries(
          [...filterable].map(([key, member]) => [key, this.#filterField(collection, member)] as const),
        ),
        and: { type: new GraphQLList(new GraphQLNonNull(type)), description: 'All of these filters match.' },
        or: {
          type: new GraphQLList(new GraphQLNonNull(type)),
          description: 'At least one of these filters matches.',
        },
        not: { type, description: 'This filter does not match.' },
      }),
    })
    return type
  }

  #filterField(collection: Collection, member: Field | Relation): GraphQLInputFieldConfig {
    if (!('kind' in member)) {
      const deprecationReason = deprecationText(member.deprecated)
      return {
        type: this.#leafTypes.filter(collection, member),
        description: member.description,
        deprecationReason,
      }
    }
    const type = this.#filters.get(member.target)
    if (!type) throw new Error(`there is no filter for ${member.target}`)
    const description =
      member.kind === 'one'
        ? 'The related item matches this filter.'
        : 'At least one related item matches this filter.'
    return { type, description }
  }
}

const nodeIdName = 'nodeId'

const nodeIdField = {
  type: nonNull(GraphQLID),
  description: 'Identifies the item among the items of all types. `node` finds it by this id.',
}

function nodeType(name: string): GraphQLInterfaceType {
  return new GraphQLInterfaceType({
    name,
    description: 'An item of any type.',
    fields: { [nodeIdName]: nodeIdField },
  })
}
