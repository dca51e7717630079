/** The error for an invalid or forbidden request. */
import { type ASTNode, GraphQLError } from 'graphql'

/** `nodes`: the location of the error in the document. */
export function badRequest(message: string, nodes?: ASTNode | readonly ASTNode[]): GraphQLError {
  return new GraphQLError(message, { nodes: nodes ?? null, extensions: { code: 'BAD_REQUEST' } })
}
