/** The types of aggregates: groups of a collection's items with their aggregates, and the enums that group and order them. */
import {
  GraphQLEnumType,
  GraphQLFloat,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from 'graphql'
import { hasZone } from '../../../engine/plan/guard/guard.ts'
import {
  type FieldMeasure,
  fieldMeasures,
  type GroupKey,
  type Measure,
  maxGroupKeys,
} from '../../../engine/plan/plan.ts'
import type { Collection, Field, Relation } from '../../../model/model.ts'
import type { LeafTypes } from './leaf-types.ts'
import { camelCase, orderName, type TypeNames, typeName } from './names.ts'
import { type Arguments, isVisible, nonNull, type SchemaField, visibleFields } from './parts.ts'

const defaultGroups = 100

/** The value of an enum that orders groups. */
export type AggregateOrder = { readonly descending: boolean } & (
  | { readonly group: GroupKey }
  | { readonly measure: Measure }
)

/** What the fields of a collection's aggregates mean in the model. */
export interface AggregateFields {
  /** By the field of `group`. */
  readonly groups: ReadonlyMap<string, { readonly key: GroupKey; readonly field: Field }>
  /** By the field of `sum`, `avg`, `min` and `max`. */
  readonly aggregates: Readonly<Record<FieldMeasure, ReadonlyMap<string, Field>>>
  /** The to-one relations, by the field that has the aggregates of their items. */
  readonly relations: ReadonlyMap<string, Relation>
}

/** The field of inputs that lists keys of the collection itself; the others are its relations. */
export const ownKeys = 'by'

const aggregateDescriptions: Readonly<Record<FieldMeasure, string>> = {
  sum: 'Sums, in double precision; null where no item has a value.',
  avg: 'Averages, in double precision; null where no item has a value.',
  min: 'The lowest values.',
  max: 'The highest values.',
}

type Target = (relation: Relation) => AggregateTypes

/**
 * Aggregates of one collection. All collections that refer to it share their types: so the schema grows with the number of
 * fields and relations, not with their product.
 */
export class AggregateTypes {
  readonly type: GraphQLObjectType
  readonly fields: AggregateFields
  readonly #collection: Collection
  readonly #targetOf: Target
  readonly #leafTypes: LeafTypes
  readonly #names: TypeNames
  readonly #baseName: string
  readonly #group: GraphQLObjectType
  readonly #aggregates: Readonly<Record<FieldMeasure, GraphQLObjectType>>
  readonly #groupBy: GraphQLEnumType
  readonly #orderBy: GraphQLEnumType
  readonly #relatedKeys: GraphQLInputObjectType
  readonly #relatedOrders: GraphQLInputObjectType

  /** `targetOf`: called when all collections have their types. */
  constructor(collection: Collection, targetOf: Target, names: TypeNames, leafTypes: LeafTypes) {
    this.#collection = collection
    this.#targetOf = targetOf
    this.#leafTypes = leafTypes
    this.#names = names
    this.#baseName = `${typeName(collection)}Aggregate`
    this.fields = aggregateFields(collection)
    const name = names.reserve(this.#baseName)
    this.#group = this.#groupType()
    const kinds = fieldMeasures.map(kind => [kind, this.#aggregateType(kind)] as const)
    this.#aggregates = Object.fromEntries(kinds) as Record<FieldMeasure, GraphQLObjectType>
    this.#groupBy = this.#groupByType()
    this.#orderBy = this.#orderByType()
    this.#relatedKeys = this.#keysType('Keys', this.#groupBy, target => target.#relatedKeys)
    this.#relatedOrders = this.#keysType('Orders', this.#orderBy, target => target.#relatedOrders)
    this.type = new GraphQLObjectType({
      name,
      description: 'A group of items, and its aggregates. Only items and values that you may read count.',
      fields: () => ({
        group: {
          type: nonNull(this.#group),
          description: 'The values of the `groupBy` keys, which all items of the group share.',
        },
        count: { type: nonNull(GraphQLInt), description: 'The number of items.' },
        ...Object.fromEntries(
          fieldMeasures
            .filter(kind => this.#has(kind))
            .map(kind => [
              kind,
              { type: nonNull(this.#aggregates[kind]), description: aggregateDescriptions[kind] },
            ]),
        ),
      }),
    })
  }

  arguments(rowArguments: Arguments, listBound: number): Arguments {
    const limit = Math.min(defaultGroups, listBound)
    const list = (type: GraphQLEnumType | GraphQLInputObjectType) => ({
      type: new GraphQLList(new GraphQLNonNull(type)),
    })
    const hasRelations = this.fields.relations.size > 0
    return {
      ...rowArguments,
      groupBy: {
        ...list(this.#groupBy),
        description: `At most ${maxGroupKeys} keys. By default, all items form one group.`,
      },
      ...(hasRelations && {
        groupByRelated: {
          ...list(this.#relatedKeys),
          description: 'Keys of related items, after those of `groupBy`.',
        },
      }),
      timeZone: {
        type: GraphQLString,
        description:
          'The time zone of the parts of times: an IANA name, e.g. `Europe/Berlin`. The default is UTC.',
      },
      orderBy: {
        ...list(this.#orderBy),
        description: 'Sort keys, in order of precedence. Ties are broken by the group keys.',
      },
      ...(hasRelations && {
        orderByRelated: {
          ...list(this.#relatedOrders),
          description: 'Sort keys of related items, after those of `orderBy`.',
        },
      }),
      limit: {
        type: GraphQLInt,
        default: { value: limit },
        description: `The maximum number of groups, up to ${listBound}.`,
      },
    }
  }

  #groupType(): GraphQLObjectType {
    const fields = [...this.fields.groups].map(([name, { key, field }]): [string, SchemaField] => {
      const type = key.part === undefined ? this.#leafTypes.type(this.#collection, field) : GraphQLString
      const zone = hasZone(field, key.part) ? ', in `timeZone`' : ''
      const description = key.part === undefined ? undefined : `The ${key.part}${zone}.`
      return [name, { type, description }]
    })
    return new GraphQLObjectType({
      name: this.#reserveName('Group'),
      fields: () => ({ ...this.#related(target => target.#group), ...Object.fromEntries(fields) }),
    })
  }

  #aggregateType(kind: FieldMeasure): GraphQLObjectType {
    const isTotal = kind === 'sum' || kind === 'avg'
    const fields = [...this.fields.aggregates[kind]].map(([name, field]): [string, SchemaField] => [
      name,
      { type: isTotal ? GraphQLFloat : this.#leafTypes.type(this.#collection, field) },
    ])
    return new GraphQLObjectType({
      name: this.#reserveName(kind.charAt(0).toUpperCase() + kind.slice(1)),
      fields: () => ({
        ...this.#related(target => (target.#has(kind) ? target.#aggregates[kind] : undefined)),
        ...Object.fromEntries(fields),
      }),
    })
  }

  /** A field for each relation whose items have such a type. */
  #related(typeOf: (target: AggregateTypes) => GraphQLObjectType | undefined) {
    const fields = [...this.fields.relations].flatMap(([name, relation]): [string, SchemaField][] => {
      const type = typeOf(this.#targetOf(relation))
      return type ? [[name, { type: nonNull(type) }]] : []
    })
    return Object.fromEntries(fields)
  }

  /** Whether there are such aggregates of the items, or of items to which relations lead. */
  #has(kind: FieldMeasure, visited = new Set<AggregateTypes>()): boolean {
    if (visited.has(this)) return false
    visited.add(this)
    if (this.fields.aggregates[kind].size > 0) return true
    return [...this.fields.relations.values()].some(relation => this.#targetOf(relation).#has(kind, visited))
  }

  #groupByType(): GraphQLEnumType {
    const values = [...this.fields.groups.values()].map(
      ({ key }) => [groupName(key), { value: key }] as const,
    )
    return new GraphQLEnumType({ name: this.#reserveName('GroupBy'), values: Object.fromEntries(values) })
  }

  /** If an aggregate and a field have the same name, the aggregate gets it. */
  #orderByType(): GraphQLEnumType {
    const groups = [...this.fields.groups.values()].map(
      ({ key }) => [groupName(key), { group: key }] as const,
    )
    const count = ['COUNT', { measure: { kind: 'count' } }] as const
    const aggregates = fieldMeasures.flatMap(kind =>
      [...this.fields.aggregates[kind].values()].map(
        ({ name }) => [`${kind}_${name}`, { measure: { kind, field: name } }] as const,
      ),
    )
    const values = [...groups, count, ...aggregates].flatMap(([name, order]) =>
      [false, true].map(
        descending => [orderName(name, descending), { value: { ...order, descending } }] as const,
      ),
    )
    return new GraphQLEnumType({ name: this.#reserveName('OrderBy'), values: Object.fromEntries(values) })
  }

  /** Keys of the items, and of those to which their relations lead. */
  #keysType(
    suffix: string,
    keys: GraphQLEnumType,
    typeOf: (target: AggregateTypes) => GraphQLInputObjectType,
  ): GraphQLInputObjectType {
    return new GraphQLInputObjectType({
      name: this.#reserveName(suffix),
      fields: () => ({
        [ownKeys]: { type: new GraphQLList(new GraphQLNonNull(keys)) },
        ...Object.fromEntries(
          [...this.fields.relations]
            .filter(([name]) => name !== ownKeys)
            .map(([name, relation]) => [name, { type: typeOf(this.#targetOf(relation)) }]),
        ),
      }),
    })
  }

  #reserveName(suffix: string): string {
    return this.#names.reserve(this.#baseName + suffix)
  }
}

/** `CREATED_AT_MONTH` */
function groupName({ field, part }: GroupKey): string {
  return (part === undefined ? field : `${field}_${part}`).toUpperCase()
}

/** If a field and a part of a date have the same name, the field gets it. */
function aggregateFields(collection: Collection): AggregateFields {
  // Clients treat objects with an `id` as items, and cache them by it.
  const visible = visibleFields(collection).filter(({ name }) => name !== 'id')
  const sortable = visible.filter(({ type }) => type.sortable)
  const summable = visible.filter(({ type }) => type.summable)
  const parts = sortable.flatMap(field =>
    (field.type.dateGroups ?? []).map(
      part => [camelCase(`${field.name}_${part}`), { key: { field: field.name, part }, field }] as const,
    ),
  )
  const whole = sortable.map(field => [camelCase(field.name), { key: { field: field.name }, field }] as const)
  const byName = (fields: readonly Field[]) => new Map(fields.map(field => [camelCase(field.name), field]))
  const [totals, extremes] = [byName(summable), byName(sortable)]
  const relations = [...collection.relations.values()].filter(
    relation => relation.kind === 'one' && isVisible(collection.fields.get(relation.field)),
  )
  return {
    groups: new Map([
      ...whole,
      ...parts.filter(([name]) => !whole.some(([fieldName]) => fieldName === name)),
    ]),
    aggregates: { sum: totals, avg: totals, min: extremes, max: extremes },
    relations: new Map(relations.map(relation => [camelCase(relation.name), relation])),
  }
}
