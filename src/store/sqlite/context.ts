/** What the readers of single shapes share, and the writers. */
import type { Model } from '../../model/model.ts'
import type { GuardedWrite } from '../../plan/guarded.ts'
import type { Answers } from '../answers.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { Versions } from '../versions.ts'
import type { Written } from '../write/written.ts'
import type { Connection } from './connection.ts'
import type { EventLog } from './event-log.ts'
import type { Totals } from './read/totals.ts'
import type { SearchIndex } from './search-index.ts'

export interface ReadContext {
  readonly connection: Connection
  readonly answers: Answers
  readonly versions: Versions
  /** Versions that stay the same while rows are only added at the end or changed in place. */
  readonly orders: Versions
  readonly totals: Totals
  /** Of the statements that run on the event loop: with `pace` where they may have to be ended. */
  readonly dialect: Dialect
  /** How many rows of a list are walked along for conditions on related rows: see `read/related-rows.ts`. */
  readonly walkedRows: number
}

export interface WriteContext {
  readonly model: Model
  readonly connection: Connection
  readonly events: EventLog
  readonly search: SearchIndex
}

/** Runs one write within the transaction. `now`: ISO 8601 UTC. */
export type WriteRun = (plan: GuardedWrite, now: string) => Written
