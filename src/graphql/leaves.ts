/** Field types as GraphQL types, and the filters that they take. */
import {
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLFloat,
  GraphQLID,
  type GraphQLInputFieldConfig,
  GraphQLInputObjectType,
  GraphQLInt,
  type GraphQLLeafType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLString,
} from 'graphql'
import type { FilterOperator } from '../model/fields/type.ts'
import type { Collection, Field } from '../model/model.ts'
import { maxSearchCharacters } from '../plan/text-search.ts'
import { choiceName, type Names, pascalCase, typeName } from './names.ts'
import { DateOnly, DateTime, Json } from './scalars.ts'

const scalars: Readonly<Record<string, GraphQLLeafType>> = {
  ID: GraphQLID,
  Int: GraphQLInt,
  Float: GraphQLFloat,
  String: GraphQLString,
  Boolean: GraphQLBoolean,
  DateTime,
  Date: DateOnly,
  JSON: Json,
}

const operatorWords: Readonly<Record<FilterOperator, string>> = {
  eq: 'Is this.',
  ne: 'Has a value, and is not this.',
  gt: 'Is greater.',
  gte: 'Is greater, or this.',
  lt: 'Is less.',
  lte: 'Is less, or this.',
  in: 'Is one of these; at most 100.',
  contains: `Contains this text, in the same case; at most ${maxSearchCharacters} characters.`,
  null: 'Has no value (true), or has one (false).',
}

/** `null` would read as a value: in GraphQL the question is `isNull`. */
export function operatorName(operator: FilterOperator): string {
  return operator === 'null' ? 'isNull' : operator
}

export class Leaves {
  readonly #names: Names
  readonly #enums = new Map<Field, GraphQLEnumType>()
  readonly #filters = new Map<string, GraphQLInputObjectType>()

  constructor(names: Names) {
    this.#names = names
  }

  type(collection: Collection, field: Field): GraphQLLeafType {
    if (field.type.graphql === 'Enum') return this.#enum(collection, field)
    const scalar = scalars[field.type.graphql]
    if (!scalar) throw new Error(`no GraphQL type stands for ${field.type.graphql}`)
    return scalar
  }

  filter(collection: Collection, field: Field): GraphQLInputObjectType {
    const type = this.type(collection, field)
    const { operators } = field.type
    const exact = type === GraphQLString && !operators.includes('contains')
    const key = `${exact ? 'Exact' : ''}${type.name}Filter`
    const known = this.#filters.get(key)
    if (known) return known
    const made = new GraphQLInputObjectType({
      name: this.#names.free(key),
      description: `What a filter asks of a field of type \`${type.name}\`. All that is asked must hold.`,
      fields: Object.fromEntries(
        operators.map(operator => [operatorName(operator), operatorField(operator, type)]),
      ),
    })
    this.#filters.set(key, made)
    return made
  }

  #enum(collection: Collection, field: Field): GraphQLEnumType {
    const known = this.#enums.get(field)
    if (known) return known
    const values = (field.type.schema.enum ?? []) as readonly string[]
    const made = new GraphQLEnumType({
      name: this.#names.free(typeName(collection) + pascalCase(field.name)),
      description: field.description,
      values: Object.fromEntries(values.map(value => [choiceName(value), { value }])),
    })
    this.#enums.set(field, made)
    return made
  }
}

function operatorField(operator: FilterOperator, type: GraphQLLeafType): GraphQLInputFieldConfig {
  const description = operatorWords[operator]
  if (operator === 'null') return { type: GraphQLBoolean, description }
  if (operator === 'in') return { type: new GraphQLList(new GraphQLNonNull(type)), description }
  return { type, description }
}
