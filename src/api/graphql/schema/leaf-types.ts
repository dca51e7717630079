/** The GraphQL types of the model's field types, and the inputs that filter them. */
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
  GraphQLObjectType,
  GraphQLString,
} from 'graphql'
import { maxSearchCharacters } from '../../../engine/plan/text-search.ts'
import type { GraphqlEnum, GraphqlObject } from '../../../model/fields/field-type.ts'
import type { FilterOperator } from '../../../model/fields/type.ts'
import type { Collection, Field } from '../../../model/model.ts'
import { camelCase, pascalCase, type TypeNames, typeName } from './names.ts'
import { scalarFor } from './scalars.ts'

const scalars = {
  ID: GraphQLID,
  Int: GraphQLInt,
  Float: GraphQLFloat,
  String: GraphQLString,
  Boolean: GraphQLBoolean,
}

const operatorDescriptions: Readonly<Record<FilterOperator, string>> = {
  eq: 'Is equal to this value.',
  ne: 'Has a value other than this one.',
  gt: 'Is greater than this value.',
  gte: 'Is greater than or equal to this value.',
  lt: 'Is less than this value.',
  lte: 'Is less than or equal to this value.',
  in: 'Is one of these values; at most 100.',
  contains: `Contains this text, with the same letter case; at most ${maxSearchCharacters} characters.`,
  icontains: `Contains this text, in any letter case; at most ${maxSearchCharacters} characters.`,
  starts_with: `Begins with this text, with the same letter case; at most ${maxSearchCharacters} characters.`,
  null: 'Has no value (true), or has one (false).',
}

/** `null` would look like a value, so the operator is called `isNull` in GraphQL. */
export function operatorName(operator: FilterOperator): string {
  return operator === 'null' ? 'isNull' : camelCase(operator)
}

export class LeafTypes {
  readonly #names: TypeNames
  readonly #enums = new Map<Field, GraphQLEnumType>()
  readonly #objects = new Map<string, GraphQLObjectType>()
  readonly #filters = new Map<string, GraphQLInputObjectType>()

  constructor(names: TypeNames) {
    this.#names = names
  }

  type(collection: Collection, field: Field): GraphQLLeafType {
    const { type } = field.type.graphql
    if (typeof type === 'string') return scalars[type]
    return 'values' in type ? this.#enum(collection, field, type.values) : scalarFor(type)
  }

  /** The type of values in answers. */
  output(collection: Collection, field: Field): GraphQLLeafType | GraphQLObjectType {
    const { object } = field.type.graphql
    return object === undefined ? this.type(collection, field) : this.#object(object)
  }

  #object({ name, description, fields }: GraphqlObject): GraphQLObjectType {
    const cached = this.#objects.get(name)
    if (cached) return cached
    const members = Object.entries(fields).map(([key, type]) => [
      key,
      { type: new GraphQLNonNull(scalars[type]) },
    ])
    const type = new GraphQLObjectType({
      name: this.#names.reserve(name),
      description,
      fields: Object.fromEntries(members),
    })
    this.#objects.set(name, type)
    return type
  }

  filter(collection: Collection, field: Field): GraphQLInputObjectType {
    const type = this.type(collection, field)
    const { operators } = field.type
    const isExact = type === GraphQLString && !operators.includes('contains')
    const key = `${isExact ? 'Exact' : ''}${type.name}Filter`
    const cached = this.#filters.get(key)
    if (cached) return cached
    const filter = new GraphQLInputObjectType({
      name: this.#names.reserve(key),
      description: `Conditions on a field of type \`${type.name}\`. All of them must hold.`,
      fields: Object.fromEntries(
        operators.map(operator => [operatorName(operator), operatorField(operator, type)]),
      ),
    })
    this.#filters.set(key, filter)
    return filter
  }

  #enum(collection: Collection, field: Field, values: GraphqlEnum['values']): GraphQLEnumType {
    const cached = this.#enums.get(field)
    if (cached) return cached
    const enumType = new GraphQLEnumType({
      name: this.#names.reserve(typeName(collection) + pascalCase(field.name)),
      description: field.description,
      values: Object.fromEntries(values.map(([name, value]) => [name, { value }])),
    })
    this.#enums.set(field, enumType)
    return enumType
  }
}

function operatorField(operator: FilterOperator, type: GraphQLLeafType): GraphQLInputFieldConfig {
  const description = operatorDescriptions[operator]
  if (operator === 'null') return { type: GraphQLBoolean, description }
  if (operator === 'in') return { type: new GraphQLList(new GraphQLNonNull(type)), description }
  return { type, description }
}
