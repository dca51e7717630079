/** What the writers of single shapes share. */
import type { Model } from '../../model/model.ts'
import type { GuardedWrite } from '../../plan/guarded.ts'
import type { Connection } from '../connection.ts'
import type { EventLog } from './events.ts'
import type { SearchIndex } from './search-index.ts'

export interface WriteContext {
  readonly model: Model
  readonly connection: Connection
  readonly events: EventLog
  readonly search: SearchIndex
}

/** What one write did, for those who remember what they read. */
export interface Written {
  readonly id: number
  readonly text: string | null
  /** The collections with changed rows. */
  readonly changed: ReadonlySet<string>
  /** Those from which rows were taken. */
  readonly removed: ReadonlySet<string>
  /** No item changed, so there is no event to tell of. */
  readonly quiet?: true
}

/** Runs one write within the transaction. `now`: ISO 8601 UTC. */
export type WriteRun = (plan: GuardedWrite, now: string) => Written

export const none: ReadonlySet<string> = new Set()
