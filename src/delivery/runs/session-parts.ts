/** The dependencies of a session. */
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { Records } from '../../base/records.ts'
import type { LogicRun } from '../../engine/logic/run.ts'
import type { ChangeFeed } from '../../engine/plan/change-feed.ts'
import type { RunAttemptParts } from './attempt.ts'
import type { RunCounts } from './results.ts'

export interface RunnerSessionParts extends RunAttemptParts {
  readonly records: Pick<Records, 'get' | 'add' | 'swap' | 'after'>
  readonly log: ChangeFeed
  /** The maximum number of concurrent runs. */
  readonly concurrency: number
  /** A random number from 0 to below 1. */
  readonly random: () => number
  readonly counts: RunCounts
  /** Keeps events after this one from being pruned by age. Null: none. */
  readonly hold: (event: number | null) => Promise<void>
  /** Called when a run has failed. `retryAt`: undefined for a dead letter. */
  readonly onFailed: (run: LogicRun, error: string, retryAt: EpochMs | undefined, thrown?: unknown) => void
  readonly onGap: (name: string, from: number, to: number) => void
  readonly onMissed: (job: string, from: number, to: number) => void
  /** Called when the database has the position or runs of a reaction that the model does not have. */
  readonly onUnknown: (name: string) => void
  readonly onFault: (error: unknown) => void
  /** Called when there is something to store. */
  readonly onChange: () => void
}
