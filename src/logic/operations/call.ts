/** Actions and queries that are asked for, and what they run with. */
import type { LogicCaller } from '../../model/logic.ts'
import type { Action, Model, Query } from '../../model/model.ts'
import type { CreateHooks } from '../../plan/run.ts'
import type { Principal } from '../../principal.ts'
import { createTimeLimit, type TimeLimit } from '../../time-limit.ts'
import type { InputValues } from './input.ts'

export interface OperationLimits {
  /** How long one may take, in milliseconds. */
  readonly timeMs: number
  /** How many reads and writes it may make. */
  readonly operations: number
  /** How often it is tried where others are in its way. */
  readonly tries: number
}

export interface OperationParts {
  readonly model: Model
  readonly hooks: CreateHooks
  readonly timeLimit: TimeLimit
  readonly limits: OperationLimits
  /** The time, in milliseconds since 1970. */
  readonly now: () => number
}

export const usualLimits: OperationLimits = { timeMs: 1000, operations: 1000, tries: 3 }

/** With the usual bounds. */
export function operationParts(model: Model, hooks: CreateHooks): OperationParts {
  return { model, hooks, timeLimit: createTimeLimit(), limits: usualLimits, now: Date.now }
}

/** One to be done. */
export interface OperationCall {
  readonly operation: Action | Query
  /** Of the item that it is done to; undefined without one. */
  readonly id: number | undefined
  /** Checked. */
  readonly input: InputValues
  readonly principal: Principal
}

/** What it has come to: items by their ids. */
export type OperationResult =
  | { readonly kind: 'nothing' }
  /** An optional item that is none. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'item'; readonly collection: string; readonly id: number }
  | { readonly kind: 'values'; readonly values: InputValues }

export function isAction(operation: Action | Query): operation is Action {
  return 'emits' in operation
}

/** For messages and logs, e.g. `actions.archive`. */
export function placeOf(operation: Action | Query): string {
  return `${isAction(operation) ? 'actions' : 'queries'}.${operation.name}`
}

/** As code of the model sees who asks; null: nobody signed in. */
export function callerOf({ userId, access }: Principal): LogicCaller | null {
  if (userId === null) return null
  const scopes = access.scopes === 'all' ? 'all' : Object.freeze([...access.scopes].sort())
  return Object.freeze({ id: userId, role: access.role ?? '', scopes })
}
