/** Calls of actions and queries, and their dependencies. */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { Principal } from '../../../base/principal.ts'
import { createWatchdog, type Watchdog } from '../../../base/watchdog/watchdog.ts'
import type { Action, Model, Query } from '../../../model/model.ts'
import { type AnswerLimits, defaultAnswerLimits } from '../../plan/answer-bound.ts'
import type { CreateHooks } from '../../plan/run.ts'
import type { AsyncSteps } from '../../plan/transaction.ts'
import type { InputValues } from './input.ts'

export interface OperationLimits {
  /** The maximum duration of a call, in milliseconds. */
  readonly timeMs: number
  /** The maximum number of its reads and writes. */
  readonly operations: number
  /** The maximum number of attempts if it conflicts with other transactions. */
  readonly tries: number
  readonly answers: AnswerLimits
}

export interface OperationParts {
  readonly model: Model
  readonly hooks: CreateHooks
  readonly watchdog: Watchdog
  readonly limits: OperationLimits
  readonly now: () => EpochMs
}

export const defaultOperationLimits: OperationLimits = {
  timeMs: 1000,
  operations: 1000,
  tries: 3,
  answers: defaultAnswerLimits,
}

/** Parts with the default limits. */
export function operationParts(model: Model, hooks: CreateHooks): OperationParts {
  return { model, hooks, watchdog: createWatchdog(), limits: defaultOperationLimits, now: Date.now }
}

/** The tries and time of a transaction with code. `places`: see `AsyncSteps`. */
export function asyncStepsOf({ tries, timeMs }: OperationLimits, places: readonly string[]): AsyncSteps {
  return { places, tries, limitMs: timeMs }
}

export interface OperationCall {
  readonly operation: Action | Query
  /** The id of the operation's item, if it has one. */
  readonly id: number | undefined
  /** Checked, without defaults. */
  readonly input: InputValues
  readonly principal: Principal
  /** How many actions have called each other to make this call. */
  readonly nesting?: number
}

/** The result. Items are represented by their ids. */
export type OperationResult =
  | { readonly kind: 'nothing' }
  /** An optional item that is null. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'item'; readonly collection: string; readonly id: number }
  | { readonly kind: 'values'; readonly values: InputValues }

export function isAction(operation: Action | Query): operation is Action {
  return 'emits' in operation
}

/** The name of an operation in messages and logs, e.g. `actions.archive`. */
export function qualifiedName(operation: Action | Query): string {
  return `${isAction(operation) ? 'actions' : 'queries'}.${operation.name}`
}
