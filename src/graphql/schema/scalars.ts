/** The scalars beyond GraphQL's own, as field types declare them. */
import {
  GraphQLError,
  type GraphQLNamedType,
  GraphQLScalarType,
  Kind,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql'
import type { GraphqlScalar } from '../../model/fields/field-type.ts'

const made = new WeakMap<GraphqlScalar, GraphQLScalarType>()

export function scalarOf(declared: GraphqlScalar): GraphQLScalarType {
  const known = made.get(declared)
  if (known) return known
  const { name, description, specifiedByURL } = declared
  const scalar = new GraphQLScalarType({ name, description, specifiedByURL, ...coercion(declared) })
  made.set(declared, scalar)
  return scalar
}

/** Whether values of the type are JSON documents: they may have any number of members. */
export function holdsDocuments({ extensions }: GraphQLNamedType): boolean {
  return extensions.holdsDocuments === true
}

function coercion({ name, text }: GraphqlScalar) {
  if (text === undefined) {
    return {
      extensions: { holdsDocuments: true },
      coerceInputValue: (value: unknown) => value,
      coerceInputLiteral: (node: ValueNode) => valueFromASTUntyped(node),
    }
  }
  const parse = (value: unknown, node?: ValueNode): string => {
    const found = typeof value === 'string' ? text.canonical(value) : undefined
    if (found !== undefined) return found
    throw new GraphQLError(`${name} must be a string like "${text.example}".`, { nodes: node })
  }
  return {
    coerceInputValue: (value: unknown) => parse(value),
    coerceInputLiteral: (node: ValueNode) => parse(node.kind === Kind.STRING ? node.value : undefined, node),
  }
}
