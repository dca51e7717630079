/** The operations of a document, as the command line lists them. */
import { parse } from 'graphql'

/** The operations' names; undefined for one without a name. Throws a `GraphQLError` for a text that is not GraphQL. */
export function operationNames(text: string): (string | undefined)[] {
  return parse(text, { noLocation: true }).definitions.flatMap(definition =>
    definition.kind === 'OperationDefinition' ? [definition.name?.value] : [],
  )
}
