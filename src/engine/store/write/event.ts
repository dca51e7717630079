/** Changes as the event log keeps them. */

import type { Principal } from '../../../base/principal.ts'
import type { JsonObject } from '../../../model/fields/type.ts'
import type { ChangeKind } from '../../plan/change-feed.ts'
import type { SqlValue } from '../values.ts'

/** Who makes a change: a user, an app, both or neither; and through how many reactions. */
export type Author = Pick<Principal, 'userId' | 'app' | 'depth' | 'actor'>

/** A change of one item. */
export interface ItemChange {
  readonly collection: string
  readonly itemId: number
  readonly kind: ChangeKind
  /** The item after the change; before it, for a deletion. JSON. */
  readonly data: SqlValue
  /** The item before an update, as `data`; null for others. */
  readonly before: SqlValue
  /** The facts about the row (see `LoggedChange`), and, for an update, about the row before. */
  readonly facts: SqlValue
  readonly factsBefore: SqlValue
  /** For an update only, the names of the fields that changed; of an emitted event, its values. */
  readonly changed: readonly string[] | JsonObject | undefined
  readonly by: Author
  /** The event's type where it is not the usual one of its kind. */
  readonly type?: string
  /** The changes of one deletion share it. Their facts are those before all of them, or after. */
  readonly deletion?: object
}

export interface ChangeEvent extends ItemChange {
  /** ISO 8601 UTC. */
  readonly at: string
}
