/** The error for what a client may not ask for, or has asked for wrongly. */
import { type ASTNode, GraphQLError } from 'graphql'

/** `nodes`: where it stands in the document. */
export function badRequest(message: string, nodes?: ASTNode | readonly ASTNode[]): GraphQLError {
  return new GraphQLError(message, { nodes: nodes ?? null, extensions: { code: 'BAD_REQUEST' } })
}
