/** What a named operation does, besides reading and writing one item: actions that are built in, and those of the model. */
import type { OperationResult } from '../../logic/operations/call.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Awaitable } from '../../plan/answer.ts'
import type { Acts, ProgramSteps } from '../../plan/transaction.ts'
import type { Principal } from '../../principal.ts'

/** What an action answers with, and what only this answer shows. */
export interface ActionResult {
  readonly result: OperationResult
  readonly revealed?: Readonly<Record<string, JsonValue>>
}

/** The transaction of an action. */
export interface PreparedAction {
  /** See `Program.serial`. */
  readonly serial: readonly string[] | undefined
  readonly acts?: Acts
  readonly snapshot?: boolean
  readonly steps: () => ProgramSteps<ActionResult>
}

export interface ActionTarget {
  /** The item, which the caller may read. */
  readonly id: number
  /** The item within it, if the action is done to that. */
  readonly nested: number | undefined
}

/** Throws or rejects with an `ApiError` where it cannot be done. */
export type ItemAction = (target: ActionTarget, principal: Principal) => Awaitable<PreparedAction>

/** Of those that are built in. By collection, then by name. */
export type ItemActions = ReadonlyMap<string, ReadonlyMap<string, ItemAction>>

/** An item of a collection. */
export function itemResult(collection: string, id: number): OperationResult {
  return { kind: 'item', collection, id }
}
