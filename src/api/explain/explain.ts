/** Explains why a request is allowed or refused: executes it like the real one, then rolls it back. */

import type { Awaitable } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import type { EpochMs } from '../../base/epoch-ms.ts'
import { ApiError, toApiError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import type { Principal } from '../../base/principal.ts'
import type { Guard } from '../../engine/plan/guard/guard.ts'
import { probesOf } from '../../engine/plan/guard/guard.ts'
import type { Run } from '../../engine/plan/run.ts'
import type { Store } from '../../engine/store/store.ts'
import type { Route } from '../../model/model.ts'
import { RoutePaths } from '../routes/paths.ts'
import { allowanceReasons } from './allowances.ts'
import type { ReasonParts } from './evaluation.ts'
import { eventReasons, selectionOf } from './event-reasons.ts'
import type { ExplainedLimit, Explanation, Reason } from './explanation.ts'
import { type GraphqlOutcome, graphqlReasons } from './graphql-reasons.ts'
import { refusalReasons, scopeList } from './refusals.ts'
import { createRehearsal, type Rehearsal } from './rehearsal.ts'
import { type ExplainRequest, parseExplainRequest } from './request.ts'
import { routeOutcome } from './route-outcome.ts'
import { type Subject, type SubjectParts, subjectOf } from './subject.ts'

/** The transports of a rehearsed request. */
export interface RehearsalTransports {
  rest(call: Call, principal: Principal): Awaitable<Reply>
  graphql(call: Call, body: unknown, principal: Principal): Promise<GraphqlOutcome>
}

/** Draws the cost of a request beyond 1 from a budget. */
export type Draw = (requests: number) => Awaitable<undefined>

export interface ExplainerParts extends SubjectParts {
  readonly guard: Guard
  readonly store: Pick<Store, 'transaction'>
  /** The limits from which a request draws; of a route, if it calls one. */
  readonly limitsOf: (principal: Principal, route?: Route) => readonly ExplainedLimit[]
  /** The transports on a `Run` whose changes are rolled back. */
  readonly transportsOn: (run: Run, draw: Draw) => RehearsalTransports
  readonly now: () => EpochMs
  /** Called with an INTERNAL_ERROR, whose cause only the operator sees. */
  readonly onFault: (error: unknown) => void
}

export interface Explainer {
  /**
   * `viewer` undefined: the operator. `draw`: from the viewer's budget. Throws VALIDATION_FAILED for an invalid body, and the
   * errors of `draw`.
   */
  request(body: unknown, viewer: Principal | undefined, draw?: Draw): Promise<Explanation>
  /** Explains a received request to the developer of the service. */
  call(call: Call, principal: Principal): Promise<Explanation>
}

const rolledBackNote = 'This is how the request is answered now. Its changes were rolled back.'
const batchNote =
  'The reasons apply to the items as they are stored: changes by earlier operations of the batch were rolled back.'

const eventsPath = '/api/v1/events'
const graphqlPath = '/graphql'

interface RehearsedReply {
  /** Null if the code of a route decides it. */
  readonly status: number | null
  readonly error: ApiError | undefined
  readonly graphql?: GraphqlOutcome
}

/** A request and its caller. */
interface ExplainedRequest {
  readonly call: Call
  /** Parsed. */
  readonly body: unknown
  readonly subject: Subject
  readonly viewer: Principal | undefined
  readonly draw: Draw
}

const drawNothing: Draw = () => undefined

class RequestExplainer implements Explainer {
  readonly #parts: ExplainerParts
  readonly #probes: ReturnType<typeof probesOf>
  readonly #routes: RoutePaths

  constructor(parts: ExplainerParts) {
    this.#parts = parts
    this.#routes = new RoutePaths(parts.model.logic.routes.values())
    this.#probes = probesOf(parts.model)
  }

  async request(
    requestBody: unknown,
    viewer: Principal | undefined,
    draw = drawNothing,
  ): Promise<Explanation> {
    const request = parseExplainRequest(requestBody, path => this.#routes.at(path) !== undefined)
    const subject = await subjectOf(this.#parts, request, viewer)
    return this.#explain({ call: callOf(request), body: request.body, subject, viewer, draw })
  }

  call(call: Call, principal: Principal): Promise<Explanation> {
    const { 'idempotency-key': _key, ...headers } = call.headers
    const body = call.body.length === 0 ? undefined : parseJson(call.body.toString())
    const { method, url, path, query, address, requestId, body: bytes } = call
    return this.#explain({
      call: { method, url, path, query, address, requestId, headers, body: bytes },
      ...{ body, subject: { principal, role: principal.access.role }, viewer: undefined, draw: drawNothing },
    })
  }

  async #explain({ call, body, subject, viewer, draw }: ExplainedRequest): Promise<Explanation> {
    if (subject.fault !== undefined) {
      const error = new ApiError('UNAUTHORIZED')
      const reasons = [{ kind: 'credential' as const, message: subject.fault }]
      return explanation(call, subject, { outcome: { status: error.status, error }, reasons })
    }
    const { principal } = subject
    const found = this.#routes.at(call.path)
    if (found) {
      const parts = this.#reasonParts(subject, viewer, createRehearsal(this.#parts.run))
      const { route, ...explained } = await routeOutcome(parts, found, call)
      return explanation(call, subject, { ...explained, limits: this.#parts.limitsOf(principal, route) })
    }
    if (call.path === '/api/v1/explain') {
      throw new ApiError('BAD_REQUEST', 'An explanation cannot be explained.')
    }
    const rehearsal = createRehearsal(this.#parts.run)
    let budgetError: unknown
    const outcome = await this.#outcome(rehearsal, call, body, principal, async requests => {
      try {
        return await draw(requests)
      } catch (error) {
        budgetError = error
        throw error
      }
    })
    // The viewer's budget is used up. This says nothing about the explained request.
    if (budgetError !== undefined) throw budgetError
    const reasons = await reasonsOf(this.#reasonParts(subject, viewer, rehearsal), outcome, call)
    return explanation(call, subject, {
      ...{ outcome, reasons, notes: notesOf(rehearsal, outcome, call) },
      limits: this.#parts.limitsOf(principal),
    })
  }

  #reasonParts(
    { principal }: Subject,
    viewer: Principal | undefined,
    { attempts, operations }: Rehearsal,
  ): ReasonParts {
    return { ...this.#parts, probes: this.#probes, principal, viewer, attempts, operations }
  }

  async #outcome(
    rehearsal: Rehearsal,
    call: Call,
    body: unknown,
    principal: Principal,
    draw: Draw,
  ): Promise<RehearsedReply> {
    const { transportsOn, onFault } = this.#parts
    const transports = transportsOn(rehearsal.run, draw)
    try {
      if (call.path === graphqlPath) {
        const graphql = await transports.graphql(call, body, principal)
        return { status: graphql.status, error: undefined, graphql }
      }
      const { status, body: replyBody } = await transports.rest(withoutWaiting(call), principal)
      // A stream that nobody reads would stay open.
      if (replyBody !== null && typeof replyBody === 'object' && Symbol.asyncIterator in replyBody)
        await replyBody[Symbol.asyncIterator]().return?.()
      return { status, error: undefined }
    } catch (cause) {
      const error = toApiError(cause)
      if (error.code === 'INTERNAL_ERROR') onFault(error)
      return { status: error.status, error }
    }
  }
}

export function createExplainer(parts: ExplainerParts): Explainer {
  return new RequestExplainer(parts)
}

function reasonsOf(
  parts: ReasonParts,
  { error, graphql }: RehearsedReply,
  call: Call,
): Promise<readonly Reason[]> {
  if (error) return refusalReasons(parts, error)
  if (graphql) return graphqlReasons(parts, graphql)
  if (call.path === eventsPath) return eventReasons(parts, selectionOf(parts.model, call.query))
  return allowanceReasons(parts)
}

/** For events, HEAD makes every check of GET, without waiting or opening a stream. */
function withoutWaiting(call: Call): Call {
  return call.path === eventsPath && call.method === 'GET' ? { ...call, method: 'HEAD' } : call
}

function callOf({ method, path: url, body, headers }: ExplainRequest): Call {
  const queryStart = url.indexOf('?')
  const text = body === undefined ? '' : JSON.stringify(body)
  return {
    method,
    url,
    path: queryStart === -1 ? url : url.slice(0, queryStart),
    query: queryStart === -1 ? '' : url.slice(queryStart + 1),
    headers: { ...headers, ...(text !== '' && { 'content-type': 'application/json' }) },
    address: '127.0.0.1',
    requestId: 'explain',
    body: Buffer.from(text),
  }
}

function notesOf(
  { attempts, operations, discarded }: Rehearsal,
  outcome: RehearsedReply,
  { path }: Call,
): readonly string[] {
  const isRefused = verdictOf(outcome) !== undefined
  const writes = attempts.some(({ plan }) => ['create', 'update', 'delete'].includes(plan.shape.kind))
  if (isRefused) return writes && path === '/api/v1/batch' ? [batchNote] : []
  const events = [...new Set(discarded.events)].join(', ')
  const jobs = `${discarded.jobs} ${discarded.jobs === 1 ? 'job' : 'jobs'} of \`later\``
  return [
    ...(operations.length > 0 ? [`The code of ${[...new Set(operations)].join(', ')} ran.`] : []),
    ...(writes ? [rolledBackNote] : []),
    ...(events === '' ? [] : [`Not emitted: ${events}.`]),
    ...(discarded.jobs === 0 ? [] : [`Not added: ${jobs}.`]),
  ]
}

interface ErrorSummary {
  readonly code: string
  readonly message: string
}

/** The error of the request; undefined if it is allowed. */
function verdictOf({ error, graphql }: RehearsedReply): ErrorSummary | undefined {
  return error ?? graphql?.errors[0]
}

interface Explained extends Pick<Explanation, 'reasons'>, Partial<Pick<Explanation, 'limits' | 'notes'>> {
  readonly outcome: RehearsedReply
}

function explanation(
  { method, url: path }: Call,
  { principal: { userId, access }, role }: Subject,
  { outcome, reasons, limits = [], notes = [] }: Explained,
): Explanation {
  const verdict = verdictOf(outcome)
  return {
    allowed: verdict === undefined,
    status: outcome.status,
    code: verdict?.code ?? null,
    message: verdict?.message ?? null,
    as: { user: userId, role, scopes: scopeList(access.scopes) },
    request: { method, path },
    reasons,
    limits,
    notes,
  }
}
