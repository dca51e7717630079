/** The types of aggregates: groups of a collection's items with their aggregates, and the enums that group and order them. */
import {
  GraphQLEnumType,
  GraphQLFloat,
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
import type { Collection, Field } from '../../../model/model.ts'
import type { LeafTypes } from './leaf-types.ts'
import { camelCase, orderName, type TypeNames, typeName } from './names.ts'
import { type Arguments, isVisible, nonNull, type SchemaField, visibleFields } from './parts.ts'

const defaultGroups = 100

/** The value of an enum that orders groups. */
export type AggregateOrder = { readonly descending: boolean } & (
  | { readonly group: GroupKey }
  | { readonly measure: Measure }
)

/** A field of the items, or of an item to which a to-one relation leads. */
export interface AggregatedField {
  /** `amount`, `author_name`; of a group also `created_at_month`. */
  readonly name: string
  /** The relation, if there is one. */
  readonly path: readonly string[]
  /** The collection that has the field. */
  readonly collection: Collection
  readonly field: Field
}

export interface AggregatedGroup extends AggregatedField {
  readonly key: GroupKey
}

/** What the fields of a collection's aggregates mean in the model. */
export interface AggregateFields {
  /** By the field of `group`. */
  readonly groups: ReadonlyMap<string, AggregatedGroup>
  /** By the field of `sum`, `avg`, `min` and `max`. */
  readonly aggregates: Readonly<Record<FieldMeasure, ReadonlyMap<string, AggregatedField>>>
}

const aggregateDescriptions: Readonly<Record<FieldMeasure, string>> = {
  sum: 'Sums, in double precision; null where no item has a value.',
  avg: 'Averages, in double precision; null where no item has a value.',
  min: 'The lowest values.',
  max: 'The highest values.',
}

/** Aggregates of one collection. */
export class AggregateTypes {
  readonly type: GraphQLObjectType
  readonly fields: AggregateFields
  readonly #leafTypes: LeafTypes
  readonly #names: TypeNames
  readonly #baseName: string

  constructor(
    collection: Collection,
    collectionOf: (name: string) => Collection,
    names: TypeNames,
    leafTypes: LeafTypes,
  ) {
    this.#leafTypes = leafTypes
    this.#names = names
    this.#baseName = `${typeName(collection)}Aggregate`
    this.fields = aggregateFields(aggregatedFields(collection, collectionOf))
    this.type = new GraphQLObjectType({
      name: names.reserve(this.#baseName),
      description: 'A group of items, and its aggregates. Only items and values that you may read count.',
      fields: {
        group: {
          type: nonNull(this.#groupType()),
          description: 'The values of the `groupBy` keys, which all items of the group share.',
        },
        count: { type: nonNull(GraphQLInt), description: 'The number of items.' },
        ...Object.fromEntries(fieldMeasures.flatMap(kind => this.#aggregates(kind))),
      },
    })
  }

  arguments(rowArguments: Arguments, listBound: number): Arguments {
    const limit = Math.min(defaultGroups, listBound)
    const list = (type: GraphQLEnumType) => new GraphQLList(new GraphQLNonNull(type))
    return {
      ...rowArguments,
      groupBy: {
        type: list(this.#groupBy()),
        description: `At most ${maxGroupKeys} keys. Those of a related item begin with the relation. By default, all items form one group.`,
      },
      timeZone: {
        type: GraphQLString,
        description:
          'The time zone of the parts of times: an IANA name, e.g. `Europe/Berlin`. The default is UTC.',
      },
      orderBy: {
        type: list(this.#orderBy()),
        description: 'Sort keys, in order of precedence. Ties are broken by the group keys.',
      },
      limit: {
        type: GraphQLInt,
        default: { value: limit },
        description: `The maximum number of groups, up to ${listBound}.`,
      },
    }
  }

  #groupType(): GraphQLObjectType {
    const fields = [...this.fields.groups].map(([name, group]): [string, SchemaField] => {
      const { key, collection, field } = group
      const type = key.part === undefined ? this.#leafTypes.type(collection, field) : GraphQLString
      const zone = hasZone(field, key.part) ? ', in `timeZone`' : ''
      const description = key.part === undefined ? undefined : `The ${key.part}${zone}.`
      return [name, { type, description }]
    })
    return new GraphQLObjectType({ name: this.#reserveName('Group'), fields: Object.fromEntries(fields) })
  }

  #aggregates(kind: FieldMeasure): readonly (readonly [string, SchemaField])[] {
    const fieldsByName = this.fields.aggregates[kind]
    if (fieldsByName.size === 0) return []
    const isTotal = kind === 'sum' || kind === 'avg'
    const type = new GraphQLObjectType({
      name: this.#reserveName(kind.charAt(0).toUpperCase() + kind.slice(1)),
      fields: Object.fromEntries(
        [...fieldsByName].map(([name, { collection, field }]) => {
          const valueType = isTotal ? GraphQLFloat : this.#leafTypes.type(collection, field)
          return [name, { type: valueType }]
        }),
      ),
    })
    return [[kind, { type: nonNull(type), description: aggregateDescriptions[kind] }]]
  }

  #groupBy(): GraphQLEnumType {
    const values = [...this.fields.groups.values()].map(
      ({ name, key }) => [name.toUpperCase(), { value: key }] as const,
    )
    return new GraphQLEnumType({ name: this.#reserveName('GroupBy'), values: Object.fromEntries(values) })
  }

  /** Of several orders with the same name, the last one gets it: an aggregate before a key, and the items' own before a related one. */
  #orderBy(): GraphQLEnumType {
    const groups = [...this.fields.groups.values()].map(
      ({ name, path, key }) => [name, path, { group: key }] as const,
    )
    const count = ['COUNT', [], { measure: { kind: 'count' } }] as const
    const aggregates = fieldMeasures.flatMap(kind =>
      [...this.fields.aggregates[kind].values()].map(
        ({ name, path, field }) =>
          [`${kind}_${name}`, path, { measure: { kind, path, field: field.name } }] as const,
      ),
    )
    const orders = [...groups, count, ...aggregates].toSorted(
      ([, first], [, second]) => second.length - first.length,
    )
    const values = orders.flatMap(([name, , order]) =>
      [false, true].map(
        descending => [orderName(name, descending), { value: { ...order, descending } }] as const,
      ),
    )
    return new GraphQLEnumType({ name: this.#reserveName('OrderBy'), values: Object.fromEntries(values) })
  }

  #reserveName(suffix: string): string {
    return this.#names.reserve(this.#baseName + suffix)
  }
}

/** Those of the collection, then those of the collections to which its to-one relations lead. */
function aggregatedFields(
  collection: Collection,
  collectionOf: (name: string) => Collection,
): readonly AggregatedField[] {
  // Clients treat objects with an `id` as items, and cache them by it.
  const fieldsOf = (owner: Collection, path: readonly string[]) =>
    visibleFields(owner)
      .filter(({ name }) => name !== 'id')
      .map(field => ({ name: [...path, field.name].join('_'), path, collection: owner, field }))
  const related = [...collection.relations].flatMap(([name, relation]) =>
    relation.kind === 'one' && isVisible(collection.fields.get(relation.field))
      ? fieldsOf(collectionOf(relation.target), [name])
      : [],
  )
  return [...fieldsOf(collection, []), ...related]
}

/** Own fields get a name before related ones, and fields before parts of dates. */
function aggregateFields(fields: readonly AggregatedField[]): AggregateFields {
  const sortable = fields.filter(({ field }) => field.type.sortable)
  const summable = fields.filter(({ field }) => field.type.summable)
  const groups = sortable.flatMap(each =>
    [undefined, ...(each.field.type.dateGroups ?? [])].map((part): AggregatedGroup => {
      const name = part === undefined ? each.name : `${each.name}_${part}`
      return { ...each, name, key: { path: each.path, field: each.field.name, part } }
    }),
  )
  const order = ({ path, key }: AggregatedGroup) => path.length * 2 + (key.part === undefined ? 0 : 1)
  const [totals, extremes] = [byName(summable), byName(sortable)]
  return {
    groups: byName(groups.toSorted((first, second) => order(first) - order(second))),
    aggregates: { sum: totals, avg: totals, min: extremes, max: extremes },
  }
}

/** The first one of a name gets it. */
function byName<T extends AggregatedField>(fields: readonly T[]): ReadonlyMap<string, T> {
  const named = new Map<string, T>()
  for (const each of fields) if (!named.has(camelCase(each.name))) named.set(camelCase(each.name), each)
  return named
}
