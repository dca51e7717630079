/** Prepares the operation of a request, for every transport: document, limits, variables, budget. */

import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { Principal } from '../../../base/principal.ts'
import type { CredentialHeaders } from '../../events/credential-monitor.ts'
import type { Documents } from '../documents/stored-documents.ts'
import type {
  BoundOperation,
  Engine,
  Executed,
  ExecutionContext,
  IdempotentReply,
  OnError,
  RateLimit,
} from '../engine.ts'
import type { GraphqlMetrics } from '../metrics.ts'
import type { GraphqlRequest } from '../request.ts'
import { engineFailure } from '../request-error.ts'

/** The budget that an operation draws from, and its owner. */
export interface Account {
  readonly principal: Principal
  /** Undefined: the caller sent no credential, so nothing can expire. */
  readonly credential: CredentialHeaders | undefined
  /** Draws this many requests from the budget. Throws RATE_LIMITED. */
  draw(requests: number): Awaitable<undefined>
  /** Draws what the size of a reply costs. */
  drawForReply(text: string): Awaitable<undefined>
  /** The budget after a draw; undefined if no limit is set. */
  remaining(): RateLimit | undefined
  /** See `ExecutionContext`. */
  readonly onError?: OnError | undefined
}

export interface OperationParts {
  readonly engine: Engine
  readonly documents: Documents
  readonly metrics: GraphqlMetrics
  /** Points of cost that draw one request from the budget. */
  readonly costPerRequest: number
  readonly onFault: (error: unknown) => void
}

/**
 * Throws the error with which the request is refused. The caller has already drawn one request; this draws the rest of the
 * operation's cost. `check` may refuse the operation before that.
 */
export function prepareOperation(
  { engine, documents, metrics, costPerRequest }: OperationParts,
  request: GraphqlRequest,
  account: Account,
  check?: (bound: BoundOperation) => void,
): Awaitable<BoundOperation> {
  const document = documents.find(request)
  const prepared = engine.prepare(document.text, request.operationName)
  if (prepared.outcome === 'request error') throw engineFailure(prepared)
  document.cache?.()
  const bound = engine.bind(prepared, request.variables)
  if (bound.outcome === 'request error') throw engineFailure(bound)
  check?.(bound)
  metrics.onStarted(bound)
  const furtherRequests = Math.ceil(bound.cost / costPerRequest) - 1
  return furtherRequests > 0 ? then(account.draw(furtherRequests), () => bound) : bound
}

/**
 * A class: V8 gives every object literal with a getter a hidden class of its own, which keeps the whole request alive
 * until the next full garbage collection.
 */
class AccountContext implements ExecutionContext {
  readonly #account: Account
  readonly onFault: (error: unknown) => void
  readonly onError: OnError | undefined
  readonly idempotent: IdempotentReply | undefined

  constructor(account: Account, onFault: (error: unknown) => void, idempotent: IdempotentReply | undefined) {
    this.#account = account
    this.onFault = onFault
    this.onError = account.onError
    this.idempotent = idempotent
  }

  get rateLimit(): RateLimit | undefined {
    return this.#account.remaining()
  }
}

/** Runs a query or mutation, and draws what the size of its reply costs. `idempotent`: for a mutation with an `Idempotency-Key`. */
export function executeOperation(
  { engine, onFault }: OperationParts,
  bound: BoundOperation,
  account: Account,
  idempotent?: IdempotentReply,
): Awaitable<Executed> {
  const context = new AccountContext(account, onFault, idempotent)
  return then(engine.execute(bound, account.principal, context), executed =>
    then(account.drawForReply(executed.text), () => executed),
  )
}
