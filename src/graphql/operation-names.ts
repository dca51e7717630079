import { parse } from 'graphql'

/** The names of a document's operations; undefined for one without. Throws a `GraphQLError` where it is not GraphQL. */
export function operationNames(text: string): (string | undefined)[] {
  return parse(text, { noLocation: true }).definitions.flatMap(definition =>
    definition.kind === 'OperationDefinition' ? [definition.name?.value] : [],
  )
}
