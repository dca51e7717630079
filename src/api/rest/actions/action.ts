/** The interfaces of actions, built-in or of the model, as transactions; and of subresources. */

import type { Awaitable } from '../../../base/awaitable.ts'
import type { Principal } from '../../../base/principal.ts'
import type { OperationResult } from '../../../engine/logic/operations/call.ts'
import type { InputValues } from '../../../engine/logic/operations/input.ts'
import type {
  AsyncSteps,
  CollectionUses,
  ProgramSteps,
  RecordChange,
} from '../../../engine/plan/transaction.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { ExportSource } from '../export/sources.ts'

/** The result of an action, and the secrets that only this response contains. */
export interface ActionResult {
  readonly result: OperationResult
  readonly revealed?: Readonly<Record<string, JsonValue>>
}

/** The transaction of an action. */
export interface PreparedAction {
  /** See `Program.serial`. */
  readonly serial: CollectionUses | undefined
  readonly asyncSteps?: AsyncSteps
  readonly snapshot?: boolean
  readonly steps: () => ProgramSteps<ActionResult>
  /** Does what follows the commit. The reply is read again after it. */
  readonly afterCommit?: () => Promise<void>
}

export interface ActionTarget {
  /** The item, which the caller may read. */
  readonly id: number
  /** The item within it, if the action applies to a nested item. */
  readonly nested: number | undefined
  /** The body, validated by `BuiltinAction.input`. */
  readonly input?: InputValues
}

/** Throws or rejects with an `ApiError` if the action is not possible. */
export type ItemAction = (target: ActionTarget, principal: Principal) => Awaitable<PreparedAction>

/** The built-in actions, by collection, then by name. */
export type ItemActions = ReadonlyMap<string, ReadonlyMap<string, ItemAction>>

/** For an action that has committed its own transaction. */
export function done(result: ActionResult): PreparedAction {
  return {
    serial: undefined,
    // biome-ignore lint/correctness/useYield: nothing is left to do
    *steps() {
      return result
    },
  }
}

/** The maximum number of entries of a subresource in one response. */
export const maxListed = 1000

/** Entries that belong to an item and are not items themselves: see `Subresource`. */
export interface SubresourceHandler {
  /** At most `maxListed` entries, and their total number. */
  list(id: number): Promise<SubresourceList>
  /**
   * Ends one entry, or all of them. Undefined if there is no such entry. The caller commits the returned changes, which remove
   * the entry, together with its reply, so that a request that is repeated after a crash still finds the entry.
   */
  end(id: number, key: string | undefined): Promise<readonly RecordChange[] | undefined>
}

export interface SubresourceList {
  readonly data: readonly Readonly<Record<string, JsonValue>>[]
  readonly total: number
}

/** By collection, then by name. */
export type SubresourceHandlers = ReadonlyMap<string, ReadonlyMap<string, SubresourceHandler>>

/** The data of a user, account first. `reason`: why somebody else asks for it, for the log. Undefined: the caller is the user. */
export type OpenPersonalData = (userId: number, caller: Principal, reason: string | undefined) => ExportSource

/** The operations of Portico's own collections, other than reads and writes of items. */
export interface BuiltIns {
  readonly actions: ItemActions
  readonly subresources: SubresourceHandlers
  readonly personalData: OpenPersonalData
}

/** An item of a collection. */
export function itemResult(collection: string, id: number): OperationResult {
  return { kind: 'item', collection, id }
}
