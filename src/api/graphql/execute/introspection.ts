/** `__schema` and `__type`, which graphql-js answers. */
import {
  type DocumentNode,
  type ExecutionResult,
  executeSync,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'
import { ApiError } from '../../../base/errors.ts'
import type { CachedOperation } from '../documents/prepared-documents.ts'
import type { QueryVariant } from '../plan/variant.ts'

interface IntrospectionQuery {
  readonly prepared: CachedOperation
  readonly variant: QueryVariant
  readonly rawVariables: Readonly<Record<string, unknown>>
}

/** The value of the field with this response key. Throws BAD_REQUEST where the field fails. */
export type Introspect = (bound: IntrospectionQuery, key: string) => unknown

/** Caches results by the bound query. Without variables, all requests share one bound query. */
export function createIntrospection(schema: GraphQLSchema): Introspect {
  const results = new WeakMap<IntrospectionQuery, ExecutionResult>()
  return (bound, key) => {
    const result = results.get(bound) ?? introspect(schema, bound)
    results.set(bound, result)
    const error = result.errors?.find(({ path = [key] }) => path[0] === key)
    if (error) throw new ApiError('BAD_REQUEST', error.message)
    return result.data?.[key]
  }
}

function introspect(
  schema: GraphQLSchema,
  { prepared, variant, rawVariables }: IntrospectionQuery,
): ExecutionResult {
  const selections = variant.roots
    .filter(({ from }) => from === 'introspection')
    .flatMap(({ replyField }) => replyField.nodes)
  const operation: OperationDefinitionNode = {
    ...prepared.node,
    selectionSet: { kind: Kind.SELECTION_SET, selections },
  }
  const document: DocumentNode = {
    kind: Kind.DOCUMENT,
    definitions: [operation, ...prepared.fragments.values()],
  }
  return executeSync({ schema, document, variableValues: rawVariables })
}
