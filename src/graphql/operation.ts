/** From a request to an operation that may run: document, limits, variables, budget. The same on every transport. */
import { type Awaitable, then } from '../plan/answer.ts'
import type { Principal } from '../principal.ts'
import type { CredentialHeaders } from './clients.ts'
import type { Documents } from './documents.ts'
import type { Bound, Engine, Executed, ExecutionContext, RateLimit } from './engine.ts'
import type { Figures } from './figures.ts'
import { RequestRefused, refusedByEngine } from './refusal.ts'
import type { GraphqlRequest } from './request.ts'

/** Whose budget an operation draws from, and what is left of it. */
export interface Account {
  readonly principal: Principal
  /** What the principal came with; undefined: nothing, and so nothing can expire. */
  readonly credential: CredentialHeaders | undefined
  /** Draws so many requests. Throws RATE_LIMITED. */
  draw(requests: number): Awaitable<undefined>
  /** After a draw; undefined: nothing is limited. */
  left(): RateLimit | undefined
}

export interface OperationParts {
  readonly engine: Engine
  readonly documents: Documents
  readonly figures: Figures
  /** How many points of cost draw one request from the budget. */
  readonly costPerRequest: number
  readonly onFault: (error: unknown) => void
}

/**
 * Throws what nothing was executed for. One request was drawn before; this draws what the cost asks for beyond.
 * `check` may refuse the operation before it costs anything.
 */
export function readyOperation(
  { engine, documents, figures, costPerRequest }: OperationParts,
  request: GraphqlRequest,
  account: Account,
  check?: (bound: Bound) => void,
): Awaitable<Bound> {
  const document = documents.find(request)
  const prepared = engine.prepare(document.text, request.operationName)
  if (prepared.outcome === 'request error') throw new RequestRefused(refusedByEngine(prepared))
  document.keep?.()
  const bound = engine.bind(prepared, request.variables)
  if (bound.outcome === 'request error') throw new RequestRefused(refusedByEngine(bound))
  check?.(bound)
  figures.started(bound)
  const more = Math.ceil(bound.cost / costPerRequest) - 1
  return more > 0 ? then(account.draw(more), () => bound) : bound
}

/**
 * A class, since an object literal with a getter gets a hidden class of its own each time, which keeps the
 * whole request alive until the next full garbage collection.
 */
class AccountContext implements ExecutionContext {
  readonly #account: Account
  readonly onFault: (error: unknown) => void

  constructor(account: Account, onFault: (error: unknown) => void) {
    this.#account = account
    this.onFault = onFault
  }

  get rateLimit(): RateLimit | undefined {
    return this.#account.left()
  }
}

/** Runs a query or mutation. */
export function executeOperation(
  { engine, onFault }: OperationParts,
  bound: Bound,
  account: Account,
): Awaitable<Executed> {
  return engine.execute(bound, account.principal, new AccountContext(account, onFault))
}
