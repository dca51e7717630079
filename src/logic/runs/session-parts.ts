/** What running reactions and jobs takes. */
import type { ChangeFeed } from '../../events/change-feed.ts'
import type { Records } from '../../records.ts'
import type { AttemptParts } from './attempt.ts'
import type { RunCounts } from './results.ts'
import type { Run } from './run.ts'

export interface SessionParts extends AttemptParts {
  readonly records: Pick<Records, 'get' | 'add' | 'swap' | 'after'>
  readonly log: ChangeFeed
  /** How many runs there may be at once. */
  readonly concurrency: number
  /** From 0 to below 1. */
  readonly random: () => number
  readonly counts: RunCounts
  /** Keeps the events after a number from being pruned by age. */
  readonly hold: (event: number) => Promise<void>
  /** A run has failed. `again`: when it is tried again, in milliseconds since 1970; undefined: it is a dead letter. */
  readonly onFailed: (run: Run, error: string, again: number | undefined) => void
  readonly onGap: (name: string, from: number, to: number) => void
  readonly onMissed: (job: string, from: number, to: number) => void
  /** The database has something of a reaction or job that the model does not have. */
  readonly onUnknown: (name: string) => void
  readonly onFault: (error: unknown) => void
  /** There is something to store. */
  readonly onChange: () => void
}
