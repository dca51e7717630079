/** The types of aggregates: groups of a collection's items with their figures, and the enums that group and order them. */
import {
  GraphQLEnumType,
  GraphQLFloat,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from 'graphql'
import type { Collection, Field } from '../../model/model.ts'
import { type FieldMeasure, fieldMeasures, type GroupKey, type Measure } from '../../plan/plan.ts'
import type { LeafTypes } from './leaf-types.ts'
import { camelCase, type Names, orderName, typeName } from './names.ts'
import { type Arguments, nonNull, type SchemaField, shownFields } from './parts.ts'

export const maxGroupKeys = 3
const defaultGroups = 100

/** The value of an enum that orders groups. */
export type AggregateOrder = { readonly descending: boolean } & (
  | { readonly group: GroupKey }
  | { readonly measure: Measure }
)

/** What the fields of a collection's aggregates stand for. */
export interface AggregateFields {
  /** By the field of `group`. */
  readonly groups: ReadonlyMap<string, { readonly key: GroupKey; readonly field: Field }>
  /** By the field of `sum`, `avg`, `min` and `max`. */
  readonly figures: Readonly<Record<FieldMeasure, ReadonlyMap<string, Field>>>
}

const words: Readonly<Record<FieldMeasure, string>> = {
  sum: 'Sums, in double precision; null where no item has a value.',
  avg: 'Averages, in double precision; null where no item has a value.',
  min: 'The least values.',
  max: 'The greatest values.',
}

/** Aggregates of one collection. */
export class AggregateTypes {
  readonly type: GraphQLObjectType
  readonly fields: AggregateFields
  readonly #collection: Collection
  readonly #leafTypes: LeafTypes
  readonly #names: Names
  readonly #name: string

  constructor(collection: Collection, names: Names, leafTypes: LeafTypes) {
    this.#collection = collection
    this.#leafTypes = leafTypes
    this.#names = names
    this.#name = `${typeName(collection)}Aggregate`
    this.fields = aggregateFields(collection)
    this.type = new GraphQLObjectType({
      name: names.free(this.#name),
      description: 'A group of items, and its figures. Only what you may read counts.',
      fields: {
        group: { type: nonNull(this.#groupType()), description: 'What its items share, as `groupBy` asks.' },
        count: { type: nonNull(GraphQLInt), description: 'How many items there are.' },
        ...Object.fromEntries(fieldMeasures.flatMap(kind => this.#figures(kind))),
      },
    })
  }

  arguments(others: Arguments, listBound: number): Arguments {
    const limit = Math.min(defaultGroups, listBound)
    const list = (type: GraphQLEnumType) => new GraphQLList(new GraphQLNonNull(type))
    return {
      ...others,
      groupBy: {
        type: list(this.#groupBy()),
        description: `At most ${maxGroupKeys}. Without it, all items are one group.`,
      },
      orderBy: {
        type: list(this.#orderBy()),
        description: 'By these, the first before the next; then by the keys of the groups.',
      },
      limit: {
        type: GraphQLInt,
        default: { value: limit },
        description: `How many groups at most; up to ${listBound}.`,
      },
    }
  }

  #groupType(): GraphQLObjectType {
    const fields = [...this.fields.groups].map(([name, { key, field }]): [string, SchemaField] => {
      const type = key.part === undefined ? this.#leafTypes.type(this.#collection, field) : GraphQLString
      const description = key.part === undefined ? undefined : `The ${key.part}, in UTC.`
      return [name, { type, description }]
    })
    return new GraphQLObjectType({ name: this.#free('Group'), fields: Object.fromEntries(fields) })
  }

  #figures(kind: FieldMeasure): readonly (readonly [string, SchemaField])[] {
    const named = this.fields.figures[kind]
    if (named.size === 0) return []
    const isTotal = kind === 'sum' || kind === 'avg'
    const type = new GraphQLObjectType({
      name: this.#free(kind.charAt(0).toUpperCase() + kind.slice(1)),
      fields: Object.fromEntries(
        [...named].map(([name, field]) => {
          const leaf = isTotal ? GraphQLFloat : this.#leafTypes.type(this.#collection, field)
          return [name, { type: leaf }]
        }),
      ),
    })
    return [[kind, { type: nonNull(type), description: words[kind] }]]
  }

  #groupBy(): GraphQLEnumType {
    const values = [...this.fields.groups.values()].map(
      ({ key }) => [groupName(key), { value: key }] as const,
    )
    return new GraphQLEnumType({ name: this.#free('GroupBy'), values: Object.fromEntries(values) })
  }

  /** A figure's name goes before that of a field which is called the same. */
  #orderBy(): GraphQLEnumType {
    const groups = [...this.fields.groups.values()].map(
      ({ key }) => [groupName(key), { group: key }] as const,
    )
    const count = ['COUNT', { measure: { kind: 'count' } }] as const
    const figures = fieldMeasures.flatMap(kind =>
      [...this.fields.figures[kind].values()].map(
        ({ name }) => [`${kind}_${name}`, { measure: { kind, field: name } }] as const,
      ),
    )
    const values = [...groups, count, ...figures].flatMap(([name, by]) =>
      [false, true].map(
        descending => [orderName(name, descending), { value: { ...by, descending } }] as const,
      ),
    )
    return new GraphQLEnumType({ name: this.#free('OrderBy'), values: Object.fromEntries(values) })
  }

  #free(ending: string): string {
    return this.#names.free(this.#name + ending)
  }
}

/** `CREATED_AT_MONTH` */
function groupName({ field, part }: GroupKey): string {
  return (part === undefined ? field : `${field}_${part}`).toUpperCase()
}

/** A field goes before a part that is called the same. */
function aggregateFields(collection: Collection): AggregateFields {
  // Clients take objects with an `id` for items, and remember them by it.
  const shown = shownFields(collection).filter(({ name }) => name !== 'id')
  const sortable = shown.filter(({ type }) => type.sortable)
  const summable = shown.filter(({ type }) => type.summable)
  const parts = sortable.flatMap(field =>
    (field.type.dateParts ?? []).map(
      part => [camelCase(`${field.name}_${part}`), { key: { field: field.name, part }, field }] as const,
    ),
  )
  const whole = sortable.map(field => [camelCase(field.name), { key: { field: field.name }, field }] as const)
  const named = (fields: readonly Field[]) => new Map(fields.map(field => [camelCase(field.name), field]))
  const [totals, ends] = [named(summable), named(sortable)]
  return {
    groups: new Map([...whole, ...parts.filter(([name]) => !whole.some(([taken]) => taken === name))]),
    figures: { sum: totals, avg: totals, min: ends, max: ends },
  }
}
