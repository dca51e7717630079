/** `__schema` and `__type`, which graphql-js answers. */
import {
  type DocumentNode,
  executeSync,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'
import type { Operation } from '../documents/prepared-documents.ts'
import type { QueryVariant } from '../plan/variant.ts'

interface Introspecting {
  readonly prepared: Operation
  readonly variant: QueryVariant
  readonly given: Readonly<Record<string, unknown>>
}

/** By response key. */
export type Introspected = Readonly<Record<string, unknown>>

/** Caches answers by the bound query. Without variables, all requests share one bound query. */
export function createIntrospection(schema: GraphQLSchema): (bound: Introspecting) => Introspected {
  const known = new WeakMap<Introspecting, Introspected>()
  return bound => {
    const made = known.get(bound) ?? introspect(schema, bound)
    known.set(bound, made)
    return made
  }
}

function introspect(schema: GraphQLSchema, { prepared, variant, given }: Introspecting): Introspected {
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
  return executeSync({ schema, document, variableValues: given }).data ?? {}
}
