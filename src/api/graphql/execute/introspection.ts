/** `__schema` and `__type`, which graphql-js answers. */
import {
  type DocumentNode,
  type ExecutionResult,
  executeSync,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'
import { Cache, CacheBound } from '../../../base/cache.ts'
import { ApiError } from '../../../base/errors.ts'
import { AnswerBound, type AnswerLimits } from '../../../engine/plan/answer-bound.ts'
import type { CachedOperation } from '../documents/prepared-documents.ts'
import type { QueryVariant } from '../plan/variant.ts'

interface IntrospectionQuery {
  readonly prepared: CachedOperation
  readonly variant: QueryVariant
  readonly rawVariables: Readonly<Record<string, unknown>>
}

/** The value of the field with this response key. Throws BAD_REQUEST where the field fails, and ANSWER_TOO_LARGE. */
export type Introspect = (bound: IntrospectionQuery, key: string) => unknown

interface Introspection {
  readonly result: ExecutionResult | ApiError
  /** Of its JSON. */
  readonly characters: number
}

/** Of all cached results together, in characters of their JSON: any caller can send documents whose aliases make them large. */
const maxCachedCharacters = 16 * 1024 * 1024

/** Caches results by the bound query, which all requests of a document without variables share. */
export function createIntrospection(schema: GraphQLSchema, limits: AnswerLimits): Introspect {
  const shared = new Cache<IntrospectionQuery, Introspection>(
    new CacheBound('introspections', maxCachedCharacters),
  )
  const withVariables = new WeakMap<IntrospectionQuery, Introspection>()
  return (bound, key) => {
    const isShared = bound.prepared.types.length === 0
    const cached = isShared ? shared.get(bound) : withVariables.get(bound)
    const introspection = cached ?? introspect(schema, bound, limits)
    const { result } = introspection
    if (!cached && isShared) shared.set(bound, introspection, introspection.characters)
    else if (!cached) withVariables.set(bound, introspection)
    if (result instanceof ApiError) throw result
    const error = result.errors?.find(({ path = [key] }) => path[0] === key)
    if (error) throw new ApiError('BAD_REQUEST', error.message)
    return result.data?.[key]
  }
}

function introspect(
  schema: GraphQLSchema,
  { prepared, variant, rawVariables }: IntrospectionQuery,
  limits: AnswerLimits,
): Introspection {
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
  const result = executeSync({ schema, document, variableValues: rawVariables })
  const text = JSON.stringify(result.data ?? null)
  try {
    new AnswerBound(limits, 'readBytes').require(text)
    return { result, characters: text.length }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { result: error, characters: error.message.length }
  }
}
