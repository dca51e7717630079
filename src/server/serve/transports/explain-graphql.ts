/** Rehearses a GraphQL operation for an explanation. Importing it loads GraphQL, which is large. */

import type { Draw } from '../../../api/explain/explain.ts'
import type { GraphqlFault, GraphqlOutcome } from '../../../api/explain/graphql-reasons.ts'
import { Documents } from '../../../api/graphql/documents/stored-documents.ts'
import type { BoundOperation, Engine, RequestErrorResult } from '../../../api/graphql/engine.ts'
import { createEngine } from '../../../api/graphql/execute/create-engine.ts'
import { costPerRequest } from '../../../api/graphql/limits/transport-limits.ts'
import { parseRequest, queryRequest } from '../../../api/graphql/request.ts'
import { engineFailure, toRequestError } from '../../../api/graphql/request-error.ts'
import type { Call } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { OperationParts } from '../../../engine/logic/operations/call.ts'
import type { CreateHooks, Run } from '../../../engine/plan/run.ts'
import type { Model } from '../../../model/model.ts'
import type { Settings } from '../../config/config.ts'
import { engineOptions, registeredDocuments } from './graphql.ts'

export interface RehearsedGraphqlParts {
  readonly model: Model
  readonly run: Run
  readonly hooks: CreateHooks
  readonly settings: Settings
  readonly logic: OperationParts
  readonly draw: Draw
  readonly onFault: (error: unknown) => void
}

interface FormattedError {
  readonly message: string
  readonly path?: readonly (string | number)[]
  readonly extensions?: { readonly code?: string }
}

export async function rehearseGraphql(
  parts: RehearsedGraphqlParts,
  call: Call,
  body: unknown,
  principal: Principal,
): Promise<GraphqlOutcome> {
  try {
    const engine = createEngine(engineOptions(parts))
    const bound = bindOperation(engine, parts.settings, call, body)
    const extraRequests = Math.ceil(bound.cost / costPerRequest) - 1
    if (extraRequests > 0) await parts.draw(extraRequests)
    if (bound.prepared.operation === 'subscription')
      return rehearseSubscription(engine, bound, principal, parts.onFault)
    return await rehearseExecution(engine, bound, principal, parts.onFault)
  } catch (error) {
    const { text, status, isWellFormed } = toRequestError(error)
    if (status >= 500) parts.onFault(error)
    const { errors }: { readonly errors: readonly FormattedError[] } = JSON.parse(text)
    const thrown = error instanceof ApiError ? error : undefined
    return {
      status: isWellFormed ? 200 : status,
      errors: errors.map(formatted => faultOf(formatted, thrown)),
    }
  }
}

/** Prepares and binds the operation. Throws its request error. */
function bindOperation(engine: Engine, settings: Settings, call: Call, body: unknown): BoundOperation {
  const request = call.method === 'GET' || call.method === 'HEAD' ? queryRequest(call) : parseRequest(body)
  if (!['GET', 'HEAD', 'POST'].includes(call.method)) throw new ApiError('METHOD_NOT_ALLOWED')
  const documents = new Documents({
    mode: settings['graphql.documents'].mode,
    registered: registeredDocuments(settings),
  })
  const prepared = requireAccepted(engine.prepare(documents.find(request).text, request.operationName))
  if (call.method !== 'POST' && prepared.operation === 'mutation') {
    throw new ApiError('METHOD_NOT_ALLOWED', 'A mutation must be sent by POST.')
  }
  return requireAccepted(engine.bind(prepared, request.variables))
}

function requireAccepted<T extends { readonly outcome: string }>(prepared: T | RequestErrorResult): T {
  if (prepared.outcome === 'request error') throw engineFailure(prepared as RequestErrorResult)
  return prepared as T
}

function rehearseSubscription(
  engine: Engine,
  bound: BoundOperation,
  principal: Principal,
  onFault: (error: unknown) => void,
): GraphqlOutcome {
  let thrown: unknown
  const renderer = engine.subscribe(bound, principal, onFault, error => {
    thrown = error
  })
  if ('topics' in renderer) return { status: 200, errors: [], topics: renderer.topics }
  return { status: 200, errors: renderer.errors.map(error => faultOf(error as FormattedError, thrown)) }
}

async function rehearseExecution(
  engine: Engine,
  bound: BoundOperation,
  principal: Principal,
  onFault: (error: unknown) => void,
): Promise<GraphqlOutcome> {
  const thrown = new Map<string, unknown>()
  const { text } = await engine.execute(bound, principal, {
    ...{ rateLimit: undefined, onFault },
    onError: (error, path) => thrown.set(JSON.stringify(path), error),
  })
  const { errors = [] }: { readonly errors?: readonly FormattedError[] } = JSON.parse(text)
  return {
    status: 200,
    errors: errors.map(error => faultOf(error, thrown.get(JSON.stringify(error.path)))),
  }
}

function faultOf({ message, path, extensions }: FormattedError, error: unknown): GraphqlFault {
  const { code = 'BAD_REQUEST' } = extensions ?? {}
  return { message, code, ...(path && { path }), ...(error instanceof ApiError && { error }) }
}
