/** Small parts that all types of the schema share. */
import {
  type GraphQLArgumentConfig,
  type GraphQLFieldConfig,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLNullableType,
  type GraphQLObjectType,
} from 'graphql'
import type { Collection, Deprecation, Field } from '../../../model/model.ts'

export type SchemaField = GraphQLFieldConfig<unknown, unknown>
export type Arguments = Record<string, GraphQLArgumentConfig>

/** The most items of a list without a `limit`. */
export const defaultListLimit = 10

export const nonNull = <T extends GraphQLNullableType>(type: T) => new GraphQLNonNull(type)

export function nonNullListOf(type: GraphQLObjectType) {
  return nonNull(new GraphQLList(nonNull(type)))
}

/** Stored fields, then computed ones. */
export function visibleFields({ fields, computed }: Collection): readonly Field[] {
  return [...fields.values(), ...computed.values()].filter(isVisible)
}

export function isVisible(field: Field | undefined): boolean {
  return field !== undefined && !field.internal && !field.writeOnly
}

/** Whether the field has a value for everyone who may see the item. */
export function alwaysHasValue(field: Field): boolean {
  return !field.optional && field.access.read.kind === 'anyone'
}

export function deprecationText(deprecated: Deprecation | undefined): string | undefined {
  if (!deprecated) return undefined
  const { since, sunset, reason } = deprecated
  const sunsetNote = sunset === undefined ? '' : ` Stops working ${sunset}.`
  return `Deprecated since ${since}.${sunsetNote}${reason === undefined ? '' : ` ${reason}`}`
}
