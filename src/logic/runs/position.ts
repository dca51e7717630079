/** The records of the lease and of all positions. */
import type { RecordChange } from '../../plan/transaction.ts'
import type { RecordKey } from '../../records.ts'

const kind = 'Logic'
export const leaseKey: RecordKey = { kind, id: 'lease' }
export const positionKey: RecordKey = { kind, id: 'position' }

/** The position of a scheduled job. */
export interface PlannedJob {
  /** If either changes, the schedule restarts from the present. */
  readonly schedule: string
  readonly timeZone: string
  /** Due times up to this one have become runs; in milliseconds since 1970. */
  readonly until: number
}

export type PlannedJobs = Readonly<Record<string, PlannedJob>>

/** The payload of the record of positions. */
export interface RunnerPosition {
  /** The last event that is done, by reaction. */
  readonly reactions: Readonly<Record<string, number>>
  readonly jobs: PlannedJobs
}

/** Steps of a transaction, and a callback for its commit. */
export type PushArguments = [steps: readonly RecordChange[], committed?: () => void]
