/** GraphQL over HTTP (https://graphql.github.io/graphql-over-http/draft/). */

import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { Call, Reply } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import { isAnonymous } from '../../../base/principal.ts'
import { type Idempotency, type KeyedAttempt, keyHeader } from '../../../engine/idempotency/idempotency.ts'
import type { BoundOperation, Executed } from '../engine.ts'
import { bodyRequest, type GraphqlRequest, queryRequest } from '../request.ts'
import { toRequestError } from '../request-error.ts'
import { type Accepted, readAccept } from './accept.ts'
import { executedReply, path, requestErrorReply } from './http-reply.ts'
import { type Account, executeOperation, type OperationParts, prepareOperation } from './operation.ts'
import { type StreamParts, singleEvent, streamSubscription } from './sse.ts'

const methods = 'GET, HEAD, POST, OPTIONS'

export interface HttpParts extends OperationParts, StreamParts {
  /** See `GraphqlParts`. */
  readonly challenge: () => string
  /** GraphiQL, for browsers; undefined if it is disabled. */
  readonly page: ((call: Call) => Awaitable<Reply>) | undefined
  readonly idempotency: Idempotency
}

/** A page of another origin can send these headers only after a preflight (Fetch standard, 2.2.2). */
const preflightHeaders = ['x-requested-with', 'apollo-require-preflight', 'x-apollo-operation-name']

/**
 * A page of any origin can make a browser send a GET, which needs no preflight. A GET therefore needs a credential, a
 * header that requires a preflight, or the origin of the service.
 */
function refuseForgeableGet({ headers }: Call, { principal }: Account): void {
  if (!isAnonymous(principal.access) || headers['sec-fetch-site'] === 'same-origin') return
  if (preflightHeaders.some(name => headers[name] !== undefined)) return
  throw new ApiError(
    'BAD_REQUEST',
    'A GET without a credential needs the header `Apollo-Require-Preflight` or `X-Requested-With`, against forged requests.',
  )
}

export type AnswerHttp = (call: Call, account: Account) => Awaitable<Reply>

export function createAnswer(parts: HttpParts): AnswerHttp {
  const replyToError = (error: unknown, accepted: Accepted, account: Account): Reply => {
    const requestError = toRequestError(error)
    account.onError?.(error, [])
    if (requestError.status >= 500) parts.onFault(error)
    else parts.metrics.refused++
    // An event stream reports it too (graphql-sse, distinct connections): its clients take a response in JSON for a broken connection.
    if (accepted.json === undefined && accepted.stream && requestError.isWellFormed) {
      return singleEvent(requestError.text)
    }
    return requestErrorReply(requestError, accepted)
  }
  return (call, account) => {
    const accepted = readAccept(call.headers.accept)
    try {
      const reply = answer(parts, call, account, accepted)
      return reply instanceof Promise ? reply.catch(error => replyToError(error, accepted, account)) : reply
    } catch (error) {
      return replyToError(error, accepted, account)
    }
  }
}

function answer(parts: HttpParts, call: Call, account: Account, accepted: Accepted): Awaitable<Reply> {
  const { method } = call
  if (method === 'OPTIONS')
    return { status: 204, headers: ['Allow', methods, 'Cache-Control', 'no-store'], body: null }
  if (method === 'POST') return answerOperation(parts, call, account, accepted, bodyRequest(call))
  if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed(`${path} accepts ${methods}.`, methods)
  if (parts.page && accepted.page) return parts.page(call)
  refuseForgeableGet(call, account)
  return answerOperation(parts, call, account, accepted, queryRequest(call))
}

function methodNotAllowed(message: string, Allow: string): ApiError {
  return new ApiError('METHOD_NOT_ALLOWED', message, { headers: { Allow } })
}

function answerOperation(
  parts: HttpParts,
  call: Call,
  account: Account,
  accepted: Accepted,
  request: GraphqlRequest,
): Awaitable<Reply> {
  const check = ({ prepared: { operation } }: BoundOperation) => {
    if (call.method !== 'POST' && operation === 'mutation') {
      throw methodNotAllowed('A mutation must be sent by POST.', 'POST')
    }
    requireAcceptable(accepted, operation === 'subscription')
  }
  return then(prepareOperation(parts, request, account, check), bound => {
    if (bound.prepared.operation === 'subscription') {
      return streamSubscription(parts, call, account, bound)
    }
    const { json } = accepted
    const reply = (executed: Executed) =>
      json === undefined
        ? singleEvent(executed.text)
        : withChallenge(executedReply(executed, json), executed, account, parts)
    if (call.headers[keyHeader] === undefined || bound.prepared.operation !== 'mutation') {
      return then(executeOperation(parts, bound, account), reply)
    }
    const write = (attempt?: KeyedAttempt) =>
      then(executeOperation(parts, bound, account, attempt && { attempt, reply }), reply)
    return parts.idempotency.answer(call, account.principal, write, json)
  })
}

/**
 * Adds a challenge if an anonymous caller was refused a field because the request had no credential. The status stays 200
 * (GraphQL over HTTP, 6.4); any response may carry a challenge (RFC 9110, 11.6.1).
 */
function withChallenge(reply: Reply, { text }: Executed, { principal }: Account, parts: HttpParts): Reply {
  if (!text.startsWith('{"errors"') || !isAnonymous(principal.access)) return reply
  if (!text.includes('"code":"UNAUTHORIZED"')) return reply
  const { cachedHead: _cachedHead, ...rest } = reply
  return { ...rest, headers: [...reply.headers, 'WWW-Authenticate', parts.challenge()] }
}

/** The reply to a subscription is an event stream; the reply to other operations may be one. */
function requireAcceptable({ json, stream }: Accepted, isSubscription: boolean): void {
  if (stream || (json !== undefined && !isSubscription)) return
  const message = isSubscription
    ? 'A subscription needs `Accept: text/event-stream`, or a WebSocket with `graphql-transport-ws`.'
    : 'The response is application/graphql-response+json, application/json or text/event-stream.'
  throw new ApiError('NOT_ACCEPTABLE', message)
}
