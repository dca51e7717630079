/**
 * The GraphQL engine: a document becomes a plan, the plan one statement, its JSON the reply.
 * Transports prepare a document, bind it to its variables, draw its cost, then execute it.
 */
import type { GraphQLFormattedError, GraphQLSchema } from 'graphql'
import type { Awaitable } from '../plan/answer.ts'
import type { Principal } from '../principal.ts'
import type { Replies } from './http-reply.ts'

export interface Engine {
  readonly schema: GraphQLSchema
  /**
   * Parses, checks the limits and validates. Remembered per text (bounded), so a known document costs a
   * look-up. `operationName` undefined or null: the document's only operation.
   */
  prepare(source: string, operationName: string | null | undefined): Prepared | Refused
  /**
   * Coerces the variables and checks the limits that depend on them. `variables`: as they came from JSON;
   * undefined and null stand for none.
   */
  bind(prepared: Prepared, variables: unknown): Bound | Refused
  /** A query or mutation. Never rejects for what a client can see: errors are in the reply. */
  execute(bound: Bound, principal: Principal, context: ExecutionContext): Awaitable<Executed>
  /** The source of a subscription. Refused when the principal may never see what it asks for. */
  subscribe(bound: Bound, principal: Principal, onFault: OnFault): Subscribed | Refused
}

/** One operation of a valid document, within the limits that do not depend on variables. */
export interface Prepared {
  readonly outcome: 'prepared'
  readonly operation: 'query' | 'mutation' | 'subscription'
  readonly operationName: string | undefined
}

/** An operation with its variables. Nothing of it has been executed yet. */
export interface Bound {
  readonly outcome: 'bound'
  readonly prepared: Prepared
  /** In points: one for each object that the answer may hold, by the bounds of its lists; more where rows are scanned. */
  readonly cost: number
  /** Of a subscription: what it keeps for as long as it is open. */
  readonly kept?: Kept
}

/** What outlives the request. */
export interface Kept {
  /** Equal only for equal operations with equal arguments. */
  readonly key: string
  /** About how much memory the document takes, which others may share, and the arguments, which are its own. */
  readonly documentBytes: number
  readonly argumentBytes: number
}

/** Nothing was executed: a request error (GraphQL 7.1.2). `text` is the reply: `{"errors":[…]}`. */
export interface Refused {
  readonly outcome: 'request error'
  readonly errors: readonly GraphQLFormattedError[]
  readonly text: string
}

/** `text` is the reply: `{"data":…}` with `errors` where fields failed, and `extensions.cost`. */
export interface Executed {
  readonly text: string
  /** Where the same reply is given out again and again: the HTTP replies that were made of it. */
  readonly replies?: Replies
}

export interface ExecutionContext {
  /** What the field `rateLimit` tells; undefined: no limit is set, and the field is null. */
  readonly rateLimit: RateLimit | undefined
  readonly onFault: OnFault
}

/** Told of faults that the client sees as INTERNAL_ERROR only. */
export type OnFault = (error: unknown) => void

export interface RateLimit {
  readonly limit: number
  readonly remaining: number
  /** Unix seconds. */
  readonly resetAt: number
}

export type ChangeKind = 'created' | 'updated' | 'deleted'

/** A committed change of one item. */
export interface ItemChange {
  readonly id: number
  /** The number of its event in the log. */
  readonly event: number
  /** The row as the log has it, as JSON text: what a plan takes in place of the stored row (`ItemRoot.event`). */
  readonly row: string
}

export interface Subscribed {
  readonly collection: string
  readonly kind: ChangeKind
  /**
   * The reply for one change, as the principal may see it now; null when they may not see the item.
   * Equal for all principals for whom the same guarded plan gives the same answer, and then made once.
   */
  deliver(change: ItemChange): Awaitable<string | null>
}
