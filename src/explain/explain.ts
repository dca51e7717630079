/** Answers why a request is allowed or refused, by carrying it out as the real one and undoing all of it. */
import type { Call, Reply } from '../call.ts'
import { ApiError, type ErrorCode } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { Awaitable } from '../plan/answer.ts'
import type { Guard } from '../plan/guard.ts'
import { probesOf } from '../plan/guard.ts'
import type { Run } from '../plan/run.ts'
import type { Principal } from '../principal.ts'
import type { Store } from '../store/store.ts'
import type { Explanation, Reason } from './explanation.ts'
import { allowanceReasons, listed, refusalReasons } from './reasons.ts'
import { type Rehearsal, rehearsal } from './rehearsal.ts'
import { type ExplainRequest, explainRequest } from './request.ts'
import { subjectOf } from './subject.ts'

/** What answers a rehearsed request. */
export interface Rehearsed {
  rest(call: Call, principal: Principal): Awaitable<Reply>
  /** The reply to an operation as JSON text. */
  graphql(body: unknown, principal: Principal): Promise<string>
}

export interface ExplainerParts {
  readonly model: Model
  readonly guard: Guard
  /** Runs plans without the rules of built-in collections. */
  readonly run: Run
  readonly store: Pick<Store, 'transaction'>
  /** The transports on a run of which nothing stays. */
  readonly transportsOn: (run: Run) => Rehearsed
  readonly now?: () => number
}

export interface Explainer {
  /** `asker` undefined: the operator. Throws VALIDATION_FAILED for a body that is no such request. */
  request(body: unknown, asker: Principal | undefined): Promise<Explanation>
  /** Of a request as it came, to whoever develops the service. */
  call(call: Call, principal: Principal): Promise<Explanation>
}

const notRun = 'The code of the action or query was not run: it may refuse the request as well.'
const readFailure = 'This is how the request is answered now; what it would change was undone.'

interface Outcome {
  readonly status: number
  readonly error: ApiError | undefined
}

export function createExplainer(parts: ExplainerParts): Explainer {
  const probes = probesOf(parts.model)
  const explain = async (
    asked: ExplainRequest,
    call: Call,
    principal: Principal,
    asker: Principal | undefined,
  ) => {
    const { path } = call
    if (path === '/api/v1/events' || path === '/api/v1/explain') {
      throw new ApiError('BAD_REQUEST', `${path} cannot be explained.`)
    }
    const rehearsed = rehearsal(parts.run)
    const outcome = await outcomeOf(parts.transportsOn(rehearsed.run), rehearsed, asked, call, principal)
    const reasonParts = { ...parts, probes, principal, asker, attempts: rehearsed.attempts }
    const reasons = outcome.error
      ? await refusalReasons(reasonParts, outcome.error)
      : await allowanceReasons(reasonParts)
    return explanation(asked, principal, outcome, reasons, notesOf(rehearsed, outcome))
  }
  return {
    async request(body, asker) {
      const asked = explainRequest(body)
      const { principal, fault } = await subjectOf(parts, asked)
      if (fault !== undefined) {
        const error = new ApiError('UNAUTHORIZED')
        return explanation(
          asked,
          principal,
          { status: 401, error },
          [{ kind: 'credential', message: fault }],
          [],
        )
      }
      return explain(asked, callOf(asked), principal, asker)
    },
    call(call, principal) {
      const { method, url: path, headers } = call
      const body = call.body.length === 0 ? undefined : parsed(call.body)
      const asked = {
        as: principal.userId,
        scopes: undefined,
        key: undefined,
        method,
        path,
        body,
        headers: {},
      }
      const { 'idempotency-key': _key, ...kept } = headers
      return explain(asked, { ...rehearsedCall(call), headers: kept }, principal, undefined)
    },
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function rehearsedCall({ method, url, path, query, address, requestId, body, headers }: Call): Call {
  return { method, url, path, query, address, requestId, body, headers }
}

function callOf({ method, path: url, body, headers }: ExplainRequest): Call {
  const mark = url.indexOf('?')
  const text = body === undefined ? '' : JSON.stringify(body)
  return {
    method,
    url,
    path: mark === -1 ? url : url.slice(0, mark),
    query: mark === -1 ? '' : url.slice(mark + 1),
    headers: { ...headers, ...(text !== '' && { 'content-type': 'application/json' }) },
    address: '127.0.0.1',
    requestId: 'explain',
    body: Buffer.from(text),
  }
}

async function outcomeOf(
  transports: Rehearsed,
  rehearsed: Rehearsal,
  { body }: ExplainRequest,
  call: Call,
  principal: Principal,
): Promise<Outcome> {
  try {
    if (call.path === '/graphql') return graphqlOutcome(await transports.graphql(body, principal), rehearsed)
    const { status } = await transports.rest(call, principal)
    return { status, error: undefined }
  } catch (error) {
    if (rehearsed.reachedCode) return { status: 200, error: undefined }
    if (!(error instanceof ApiError)) throw error
    return { status: error.status, error }
  }
}

interface FormattedError {
  readonly message: string
  readonly extensions?: { readonly code?: ErrorCode }
}

/** GraphQL answers 200 with errors: the first one decides. */
function graphqlOutcome(text: string, rehearsed: Rehearsal): Outcome {
  const { errors = [] }: { readonly errors?: readonly FormattedError[] } = JSON.parse(text)
  const [first] = errors
  if (first === undefined || rehearsed.reachedCode) return { status: 200, error: undefined }
  const { code = 'BAD_REQUEST' } = first.extensions ?? {}
  const thrown = rehearsed.attempts
    .map(one => one.error)
    .find(one => one instanceof ApiError && one.code === code)
  const listedRefusal = rehearsed.attempts
    .flatMap(({ plan, principal }) =>
      plan.shape.kind === 'composite'
        ? rehearsed.run.refusals({ ...plan, shape: plan.shape }, principal)
        : [],
    )
    .find(({ error }) => error.code === code)
  const error =
    thrown instanceof ApiError ? thrown : (listedRefusal?.error ?? new ApiError(code, first.message))
  return { status: 200, error }
}

function notesOf({ reachedCode, attempts }: Rehearsal, { error }: Outcome): readonly string[] {
  const writes = attempts.some(({ plan }) => ['create', 'update', 'delete'].includes(plan.shape.kind))
  return [...(reachedCode ? [notRun] : []), ...(writes && !error ? [readFailure] : [])]
}

function explanation(
  { method, path }: ExplainRequest,
  { userId, access }: Principal,
  { status, error }: Outcome,
  reasons: readonly Reason[],
  notes: readonly string[],
): Explanation {
  return {
    allowed: error === undefined,
    status,
    code: error?.code ?? null,
    message: error?.message ?? null,
    as: { user: userId, role: access.role, scopes: listed(access.scopes) },
    request: { method, path },
    reasons,
    notes,
  }
}
