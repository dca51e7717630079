/** How far everything is, and who runs it. */
import type { RecordChange } from '../../plan/transaction.ts'
import type { RecordKey } from '../../records.ts'

/** The lease, and how far everything is. */
const kind = 'Logic'
export const leaseKey: RecordKey = { kind, id: 'lease' }
export const positionKey: RecordKey = { kind, id: 'position' }

/** Of a job, in the record of positions. */
export interface PlannedJob {
  /** Changing either begins anew. */
  readonly schedule: string
  readonly timeZone: string
  /** Up to when due times have become runs, in milliseconds since 1970. */
  readonly until: number
}

export type PlannedJobs = Readonly<Record<string, PlannedJob>>

/** The payload of the record of positions. */
export interface Place {
  /** By reaction, the last event that is done. */
  readonly reactions: Readonly<Record<string, number>>
  readonly jobs: PlannedJobs
}

/** The steps of a transaction, and what follows its commit. */
export type PushGiven = [steps: readonly RecordChange[], committed?: () => void]
