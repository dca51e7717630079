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
import { type Arguments, nonNull, type SchemaField, visibleFields } from './parts.ts'

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
  readonly #collection: Collection
  readonly #leafTypes: LeafTypes
  readonly #names: TypeNames
  readonly #baseName: string

  constructor(collection: Collection, names: TypeNames, leafTypes: LeafTypes) {
    this.#collection = collection
    this.#leafTypes = leafTypes
    this.#names = names
    this.#baseName = `${typeName(collection)}Aggregate`
    this.fields = aggregateFields(collection)
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
        description: `At most ${maxGroupKeys} keys. By default, all items form one group.`,
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
    const fields = [...this.fields.groups].map(([name, { key, field }]): [string, SchemaField] => {
      const type = key.part === undefined ? this.#leafTypes.type(this.#collection, field) : GraphQLString
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
        [...fieldsByName].map(([name, field]) => {
          const valueType = isTotal ? GraphQLFloat : this.#leafTypes.type(this.#collection, field)
          return [name, { type: valueType }]
        }),
      ),
    })
    return [[kind, { type: nonNull(type), description: aggregateDescriptions[kind] }]]
  }

  #groupBy(): GraphQLEnumType {
    const values = [...this.fields.groups.values()].map(
      ({ key }) => [groupName(key), { value: key }] as const,
    )
    return new GraphQLEnumType({ name: this.#reserveName('GroupBy'), values: Object.fromEntries(values) })
  }

  /** If a aggregate and a field have the same name, the aggregate gets it. */
  #orderBy(): GraphQLEnumType {
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
  return {
    groups: new Map([
      ...whole,
      ...parts.filter(([name]) => !whole.some(([fieldName]) => fieldName === name)),
    ]),
    aggregates: { sum: totals, avg: totals, min: extremes, max: extremes },
  }
}
