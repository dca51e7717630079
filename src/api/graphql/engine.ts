/**
 * The GraphQL engine: a document becomes a plan, the plan becomes one statement, and its JSON becomes the reply.
 * Transports prepare a document, bind it to its variables, draw its cost from the budget, and then execute it.
 */

import type { GraphQLFormattedError, GraphQLSchema } from 'graphql'
import type { Awaitable } from '../../base/awaitable.ts'
import type { Reply } from '../../base/call.ts'
import type { Principal } from '../../base/principal.ts'
import type { KeyedAttempt } from '../../engine/idempotency/idempotency.ts'
import type { ChangeRenderer } from '../events/subscriber.ts'

export interface Engine {
  readonly schema: GraphQLSchema
  /**
   * Parses the document, checks its limits and validates it. Prepared documents are cached by their text, within a
   * bound. `operationName`: undefined or null for the document's only operation.
   */
  prepare(source: string, operationName: string | null | undefined): PreparedOperation | RequestErrorResult
  /**
   * Coerces the variables, and checks the limits that depend on them. `variables`: the parsed JSON; undefined and null
   * mean no variables.
   */
  bind(prepared: PreparedOperation, variables: unknown): BoundOperation | RequestErrorResult
  /** Runs a query or mutation. Errors that a client may see are in the reply, and never reject. */
  execute(bound: BoundOperation, principal: Principal, context: ExecutionContext): Awaitable<Executed>
  /** Returns the renderer of a subscription's replies, or a request error if the principal may never see what it selects. */
  subscribe(
    bound: BoundOperation,
    principal: Principal,
    onFault: OnFault,
    onError?: OnError,
  ): ChangeRenderer | RequestErrorResult
}

/** One operation of a valid document, within the limits that do not depend on variables. */
export interface PreparedOperation {
  readonly outcome: 'prepared'
  readonly operation: 'query' | 'mutation' | 'subscription'
  readonly operationName: string | undefined
}

/** An operation with its variables. Nothing of it has been executed yet. */
export interface BoundOperation {
  readonly outcome: 'bound'
  readonly prepared: PreparedOperation
  /** In points: one for each object that the bounds of its lists allow in the reply, and more where rows are scanned. */
  readonly cost: number
  /** The memory that a subscription retains while it is open. */
  readonly retained?: Retained
  /** The number of the event after which a subscription resumes; undefined: it begins with the next event. */
  readonly after?: number | undefined
}

/** The memory of a subscription that outlives the request that opened it. */
export interface Retained {
  /** Equal only for equal operations with equal arguments. */
  readonly key: string
  /** About how much memory the document takes, which other subscriptions may share, and the subscription's own arguments. */
  readonly documentBytes: number
  readonly argumentBytes: number
}

/** A request error (GraphQL 7.1.2): nothing was executed. `text`: the reply `{"errors":[…]}`. */
export interface RequestErrorResult {
  readonly outcome: 'request error'
  readonly errors: readonly GraphQLFormattedError[]
  readonly text: string
}

/** `text`: the reply `{"data":…}`, with `errors` where fields failed, and `extensions.cost`. */
export interface Executed {
  readonly text: string
  /** HTTP replies with this text, by media type. Only cached results have them. */
  readonly replies?: Record<string, Reply>
}

export interface ExecutionContext {
  /** The value of the field `rateLimit`; undefined, and null in the reply, where no limit is set. */
  readonly rateLimit: RateLimit | undefined
  readonly onFault: OnFault
  /** Called with each error of the reply, for explanations. */
  readonly onError?: OnError | undefined
  /** Defined for a mutation with an `Idempotency-Key`. */
  readonly idempotent?: IdempotentReply | undefined
}

/** A mutation whose reply is stored in its own transaction, and replayed. */
export interface IdempotentReply {
  readonly attempt: KeyedAttempt
  /** Pure: the HTTP reply with a result. */
  readonly reply: (executed: Executed) => Reply
}

/** Called with faults that the client sees only as INTERNAL_ERROR. */
export type OnFault = (error: unknown) => void

export type OnError = (error: unknown, path: readonly (string | number)[]) => void

export interface RateLimit {
  readonly limit: number
  readonly remaining: number
  /** Unix seconds. */
  readonly resetAt: number
}
