/** What an operation on an item does, besides reading and writing it. */
import type { JsonValue } from '../../model/fields/type.ts'
import type { Awaitable } from '../../plan/answer.ts'
import type { ProgramSteps } from '../../plan/transaction.ts'
import type { Principal } from '../../principal.ts'

/** The item that an action answers with, and what only this answer shows. */
export interface ActionResult {
  readonly collection: string
  readonly id: number
  readonly revealed?: Readonly<Record<string, JsonValue>>
}

/** The transaction of an action. */
export interface PreparedAction {
  /** See `Program.serial`. */
  readonly serial: readonly string[] | undefined
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

/** By collection, then by name. */
export type ItemActions = ReadonlyMap<string, ReadonlyMap<string, ItemAction>>
