/** The scalars beyond GraphQL's own. */
import { GraphQLError, GraphQLScalarType, Kind, type ValueNode, valueFromASTUntyped } from 'graphql'
import { isDate } from '../model/fields/date.ts'
import { utcOf } from '../model/fields/datetime.ts'

function textScalar(
  name: string,
  description: string,
  specifiedByURL: string,
  canonical: (text: string) => string | undefined,
  example: string,
) {
  const parse = (value: unknown, node?: ValueNode): string => {
    const found = typeof value === 'string' ? canonical(value) : undefined
    if (found !== undefined) return found
    throw new GraphQLError(`${name} must be a string like "${example}".`, { nodes: node })
  }
  return new GraphQLScalarType({
    name,
    description,
    specifiedByURL,
    coerceInputValue: value => parse(value),
    coerceInputLiteral: node => parse(node.kind === Kind.STRING ? node.value : undefined, node),
  })
}

export const DateTime = textScalar(
  'DateTime',
  'A point in time as ISO 8601, given out in UTC, e.g. `2026-01-31T12:00:00.000Z`.',
  'https://scalars.graphql.org/andimarek/date-time',
  utcOf,
  '2026-01-31T12:00:00Z',
)

export const DateOnly = textScalar(
  'Date',
  'A day as ISO 8601, e.g. `2026-01-31`.',
  'https://scalars.graphql.org/andimarek/local-date',
  text => (isDate(text) ? text : undefined),
  '2026-01-31',
)

export const Json = new GraphQLScalarType({
  name: 'JSON',
  description: 'Any JSON value.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  coerceInputValue: value => value,
  coerceInputLiteral: node => valueFromASTUntyped(node),
})
