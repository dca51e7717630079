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
  GraphQLString,
} from 'graphql'
import type { GraphqlEnum } from '../../model/fields/field-type.ts'
import type { FilterOperator } from '../../model/fields/type.ts'
import type { Collection, Field } from '../../model/model.ts'
import { maxSearchCharacters } from '../../plan/text-search.ts'
import { camelCase, type Names, pascalCase, typeName } from './names.ts'
import { scalarOf } from './scalars.ts'

const scalars = {
  ID: GraphQLID,
  Int: GraphQLInt,
  Float: GraphQLFloat,
  String: GraphQLString,
  Boolean: GraphQLBoolean,
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
  icontains: `Contains this text, in any letter case; at most ${maxSearchCharacters} characters.`,
  starts_with: `Begins with this text, in the same case; at most ${maxSearchCharacters} characters.`,
  null: 'Has no value (true), or has one (false).',
}

/** An argument called `null` would read as a value, so GraphQL calls the operator `isNull`. */
export function operatorName(operator: FilterOperator): string {
  return operator === 'null' ? 'isNull' : camelCase(operator)
}

export class LeafTypes {
  readonly #names: Names
  readonly #enums = new Map<Field, GraphQLEnumType>()
  readonly #filters = new Map<string, GraphQLInputObjectType>()

  constructor(names: Names) {
    this.#names = names
  }

  type(collection: Collection, field: Field): GraphQLLeafType {
    const { type } = field.type.graphql
    if (typeof type === 'string') return scalars[type]
    return 'values' in type ? this.#enum(collection, field, type.values) : scalarOf(type)
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
      description: `Conditions on a field of type \`${type.name}\`. All of them must hold.`,
      fields: Object.fromEntries(
        operators.map(operator => [operatorName(operator), operatorField(operator, type)]),
      ),
    })
    this.#filters.set(key, made)
    return made
  }

  #enum(collection: Collection, field: Field, values: GraphqlEnum['values']): GraphQLEnumType {
    const known = this.#enums.get(field)
    if (known) return known
    const made = new GraphQLEnumType({
      name: this.#names.free(typeName(collection) + pascalCase(field.name)),
      description: field.description,
      values: Object.fromEntries(values.map(([name, value]) => [name, { value }])),
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
