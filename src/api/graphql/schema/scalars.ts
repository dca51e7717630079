/** The scalars beyond GraphQL's own, as field types declare them. */
import {
  GraphQLError,
  type GraphQLNamedType,
  GraphQLScalarType,
  Kind,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql'
import type { GraphqlScalar } from '../../../model/fields/field-type.ts'

const scalars = new WeakMap<GraphqlScalar, GraphQLScalarType>()

export function scalarFor(declared: GraphqlScalar): GraphQLScalarType {
  const cached = scalars.get(declared)
  if (cached) return cached
  const { name, description, specifiedByURL } = declared
  const scalar = new GraphQLScalarType({ name, description, specifiedByURL, ...coercion(declared) })
  scalars.set(declared, scalar)
  return scalar
}

/** Whether values of the type are JSON documents, which may have any number of members. */
export function isDocumentType({ extensions }: GraphQLNamedType): boolean {
  return extensions.isDocument === true
}

function coercion({ name, text }: GraphqlScalar) {
  if (text === undefined) {
    return {
      extensions: { isDocument: true },
      coerceInputValue: (value: unknown) => value,
      coerceInputLiteral: (node: ValueNode) => valueFromASTUntyped(node),
    }
  }
  const parse = (value: unknown, node?: ValueNode): string => {
    const canonical = typeof value === 'string' ? text.canonical(value) : undefined
    if (canonical !== undefined) return canonical
    throw new GraphQLError(`${name} must be a string like "${text.example}".`, { nodes: node })
  }
  return {
    coerceInputValue: (value: unknown) => parse(value),
    coerceInputLiteral: (node: ValueNode) => parse(node.kind === Kind.STRING ? node.value : undefined, node),
  }
}
