/** What a named operation does, besides reading and writing one item: actions that are built in, and those of the model. */
import type { OperationResult } from '../../logic/operations/call.ts'
import type { InputValues } from '../../logic/operations/input.ts'
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
  /** What the body says, as `BuiltinAction.input` has it. */
  readonly input?: InputValues
}

/** Throws or rejects with an `ApiError` where it cannot be done. */
export type ItemAction = (target: ActionTarget, principal: Principal) => Awaitable<PreparedAction>

/** Of those that are built in. By collection, then by name. */
export type ItemActions = ReadonlyMap<string, ReadonlyMap<string, ItemAction>>

/** For what has its own transaction, and is harmless when it is done twice. */
export function done(result: ActionResult): PreparedAction {
  return {
    serial: undefined,
    // biome-ignore lint/correctness/useYield: nothing is left to do
    *steps() {
      return result
    },
  }
}

/** Of a subresource in one answer. */
export const maxListed = 1000

/** What belongs to an item and is no item itself: see `Subresource`. */
export interface SubresourceHandler {
  /** At most `maxListed` of them, and how many there are. */
  list(id: number): Promise<SubresourceList>
  /** Ends one, or all. Returns whether there was such a one. */
  end(id: number, key: string | undefined): Promise<boolean>
}

export interface SubresourceList {
  readonly data: readonly Readonly<Record<string, JsonValue>>[]
  readonly total: number
}

/** By collection, then by name. */
export type SubresourceHandlers = ReadonlyMap<string, ReadonlyMap<string, SubresourceHandler>>

/** What Portico's own collections have besides reads and writes of items. */
export interface BuiltIns {
  readonly actions: ItemActions
  readonly subresources: SubresourceHandlers
}

/** An item of a collection. */
export function itemResult(collection: string, id: number): OperationResult {
  return { kind: 'item', collection, id }
}
