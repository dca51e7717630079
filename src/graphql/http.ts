/** GraphQL over HTTP (https://graphql.github.io/graphql-over-http/draft/). */
import type { Call, Reply } from '../call.ts'
import { ApiError } from '../errors.ts'
import { type Awaitable, then } from '../plan/answer.ts'
import { isAnonymous, type Principal } from '../principal.ts'
import { type Accepted, readAccept } from './accept.ts'
import type { Client, Clients } from './clients.ts'
import type { Bound, Executed } from './engine.ts'
import { executedReply, path, refusalReply } from './http-reply.ts'
import { type Account, executeOperation, type OperationParts, readyOperation } from './operation.ts'
import type { ConnectionQuota, Release, SubscriptionQuota } from './quota.ts'
import { refusalOf } from './refusal.ts'
import { bodyRequest, type GraphqlRequest, queryRequest } from './request.ts'
import { EventStream, singleEvent } from './sse.ts'
import type { Hub, Subscription } from './subscriptions.ts'

const methods = 'GET, HEAD, POST, OPTIONS'

export interface HttpParts extends OperationParts {
  readonly hub: Hub
  readonly clients: Clients
  readonly quota: SubscriptionQuota
  readonly connectionQuota: ConnectionQuota
  readonly maxBuffered: number
  /** See `GraphqlParts`. */
  readonly challenge: () => string
  /** For a browser that opens the path; undefined: there is none. */
  readonly page: ((call: Call) => Reply) | undefined
}

/** Headers that a page of another origin can only send where a preflight allows them (Fetch standard, 2.2.2). */
const preflighted = ['x-requested-with', 'apollo-require-preflight', 'x-apollo-operation-name']

/**
 * A GET needs no preflight, so any page could make a browser send it. Nothing but who is asked for by an
 * own credential, an own header, or this very origin is answered.
 */
function requireIntent({ headers }: Call, { principal }: Account): void {
  if (!isAnonymous(principal.access) || headers['sec-fetch-site'] === 'same-origin') return
  if (preflighted.some(name => headers[name] !== undefined)) return
  throw new ApiError(
    'BAD_REQUEST',
    'A GET without a credential needs the header `Apollo-Require-Preflight` or `X-Requested-With`, against forged requests.',
  )
}

export type AnswerHttp = (call: Call, account: Account) => Awaitable<Reply>

export function createAnswer(parts: HttpParts): AnswerHttp {
  const refuse = (error: unknown, accepted: Accepted): Reply => {
    const refused = refusalOf(error)
    if (refused.status >= 500) parts.onFault(error)
    else parts.figures.refused++
    return refusalReply(refused, accepted)
  }
  return (call, account) => {
    const accepted = readAccept(call.headers.accept)
    try {
      const made = answer(parts, call, account, accepted)
      return made instanceof Promise ? made.catch(error => refuse(error, accepted)) : made
    } catch (error) {
      return refuse(error, accepted)
    }
  }
}

function answer(parts: HttpParts, call: Call, account: Account, accepted: Accepted): Awaitable<Reply> {
  const { method } = call
  if (method === 'OPTIONS') return { status: 204, headers: ['Allow', methods], body: null }
  if (method === 'POST') return operate(parts, call, account, accepted, bodyRequest(call))
  if (method !== 'GET' && method !== 'HEAD') throw notAllowed(`${path} takes ${methods}.`, methods)
  if (parts.page && accepted.page) return parts.page(call)
  requireIntent(call, account)
  return operate(parts, call, account, accepted, queryRequest(call))
}

function notAllowed(message: string, Allow: string): ApiError {
  return new ApiError('METHOD_NOT_ALLOWED', message, { headers: { Allow } })
}

function operate(
  parts: HttpParts,
  call: Call,
  account: Account,
  accepted: Accepted,
  request: GraphqlRequest,
): Awaitable<Reply> {
  const check = ({ prepared: { operation } }: Bound) => {
    if (call.method !== 'POST' && operation === 'mutation') {
      throw notAllowed('A mutation must be sent by POST.', 'POST')
    }
    requireForm(accepted, operation === 'subscription')
  }
  return then(readyOperation(parts, request, account, check), bound => {
    if (bound.prepared.operation === 'subscription') {
      return subscribe(parts, call, account, bound)
    }
    const { json } = accepted
    return then(executeOperation(parts, bound, account), executed =>
      json === undefined
        ? singleEvent(executed.text)
        : challenged(executedReply(executed, json), executed, account, parts),
    )
  })
}

/**
 * Whoever shows no credential and is refused a field for it is told how to get one. The status stays 200, as GraphQL
 * over HTTP, 6.4 wants it; RFC 9110, 11.6.1 lets any answer have a challenge.
 */
function challenged(reply: Reply, { text }: Executed, { principal }: Account, parts: HttpParts): Reply {
  if (!text.startsWith('{"errors"') || !isAnonymous(principal.access)) return reply
  if (!text.includes('"code":"UNAUTHORIZED"')) return reply
  const { kept: _kept, ...rest } = reply
  return { ...rest, headers: [...reply.headers, 'WWW-Authenticate', parts.challenge()] }
}

/** A subscription is a stream; everything else can be one. */
function requireForm({ json, stream }: Accepted, isSubscription: boolean): void {
  if (stream || (json !== undefined && !isSubscription)) return
  const message = isSubscription
    ? 'A subscription needs `Accept: text/event-stream`, or a WebSocket with `graphql-transport-ws`.'
    : 'The answer is application/graphql-response+json, application/json or text/event-stream.'
  throw new ApiError('NOT_ACCEPTABLE', message)
}

/** A stream is a subscription and a connection. */
function takeBoth(
  quota: SubscriptionQuota,
  connectionQuota: ConnectionQuota,
  principal: Principal,
  bound: Bound,
): Release {
  const releaseConnection = connectionQuota.take(principal)
  try {
    const release = quota.take(principal, bound)
    return () => {
      release()
      releaseConnection()
    }
  } catch (error) {
    releaseConnection()
    throw error
  }
}

async function subscribe(
  { hub, clients, quota, connectionQuota, figures, maxBuffered }: HttpParts,
  { address }: Call,
  { principal, credential }: Account,
  bound: Bound,
): Promise<Reply> {
  const release = takeBoth(quota, connectionQuota, principal, bound)
  figures.subscriptions++
  let opened: Subscription | undefined
  let isOver = false
  const over = () => {
    if (isOver) return
    isOver = true
    release()
    figures.subscriptions--
    clients.remove(client)
    opened?.close()
  }
  const stream = new EventStream(maxBuffered, slow => {
    if (slow) figures.slowReaders++
    over()
  })
  const end = (text: string | undefined) => {
    over()
    stream.end(text)
  }
  const client: Client & { principal: Principal } = {
    credential,
    address,
    principal,
    become(now) {
      client.principal = now
      opened?.as(now)
    },
    refuse: error => end(refusalOf(error).text),
  }
  const next = (text: string) => {
    figures.events++
    stream.send(text)
  }
  try {
    opened = await hub.subscribe(bound, principal, { next, end })
  } catch (error) {
    stream.end(undefined)
    over()
    throw error
  }
  if (isOver) opened.close()
  else clients.add(client)
  return stream.reply
}
