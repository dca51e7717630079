/** The options of a store on SQLite, and their defaults. */

import { resolve } from 'node:path'
import type { EpochMs } from '../../../base/epoch-ms.ts'
import { createWatchdog, type Watchdog } from '../../../base/watchdog/watchdog.ts'
import { type AnswerLimits, defaultAnswerLimits } from '../../plan/answer-bound.ts'
import type { StatisticsOptions } from '../advice/statistics.ts'
import { type Retention, retentionOf } from '../log/pruning.ts'
import type { ReadingChecks } from '../write/model-code.ts'
import type { CascadeOptions } from '../write/removal/cascades.ts'
import type { CheckpointListener } from './file/checkpoints.ts'
import { noOtherThreads, type OtherThreads } from './file/other-threads.ts'

export interface SqliteOptions {
  /** The database file, or `:memory:`. A missing folder is created. */
  readonly file: string
  /** The maximum memory for cached answers, in bytes; 0: no cache. 64 MiB by default. */
  readonly cacheBytes?: number
  /** The maximum size of answers; by default as the settings have it. */
  readonly answerLimits?: AnswerLimits | undefined
  /** Whether additive changes of the model are applied at the start. True by default. */
  readonly autoMigrate?: boolean
  /** Without `autoMigrate`: see `Start`. */
  readonly onSurplus?: ((sentences: readonly string[]) => void) | undefined
  readonly retention?: Partial<Retention> | undefined
  /** How many writes may wait for a commit; more are refused. 10,000 by default. */
  readonly maxWaiting?: number
  /** How long to wait for the write lock of another process, in milliseconds. 5,000 by default. */
  readonly busyTimeoutMs?: number
  /** Processes for slow reads. By default every read runs on the event loop. See `ReaderPool`. */
  readonly readers?: ReadersOptions | undefined
  /**
   * How many rows of a list are checked one by one for conditions on related rows before the set of matching ids is built
   * instead. 500 by default, which takes less than half a millisecond.
   */
  readonly walkedRows?: number
  /** Other threads of this process with the same file. */
  readonly otherThreads?: OtherThreads | undefined
  /** Called when only a restart can make the file complete again: see `sqlite/file/checkpoints.ts`. */
  readonly onUnsafe?: (cause: unknown) => void
  readonly checkpointListener?: CheckpointListener | undefined
  /** Called for each deletion that cascades to many items, before its commit. */
  readonly cascades?: CascadeOptions | undefined
  /** Bounds the time of the model's own code; by default without a listener. */
  readonly watchdog?: Watchdog | undefined
  /** What runs the model's checks that read. Required for a model that has some. */
  readonly checks?: ReadingChecks | undefined
  readonly now?: () => EpochMs
  /** How to record the cost of reads. Omitted: it is not recorded. */
  readonly queries?: StatisticsOptions | undefined
}

export interface ReadersOptions {
  /** The maximum number of processes; 0: none. */
  readonly count: number
  /** How long a slow read may take, including the time in the queue, in milliseconds. */
  readonly timeoutMs: number
  /** How long a read may block the event loop before it moves to a process, in milliseconds; 0: it starts in the process. 2 by default. */
  readonly budgetMs?: number
  /** See `ReaderPoolOptions`. */
  readonly idleMs?: number
  readonly onLost?: (cause: unknown) => void
}

const mebibyte = 1024 * 1024

export type SqliteSettings = ReturnType<typeof sqliteSettings>

export function sqliteSettings(options: SqliteOptions) {
  const { cacheBytes = 64 * mebibyte, autoMigrate = true, retention, walkedRows = 500 } = options
  const { maxWaiting = 10_000, busyTimeoutMs = 5000, now = Date.now, otherThreads = noOtherThreads } = options
  const { onSurplus, readers, onUnsafe, checkpointListener, cascades, queries } = options
  const { watchdog = createWatchdog(), checks, answerLimits = defaultAnswerLimits } = options
  return {
    file: options.file === ':memory:' ? options.file : resolve(options.file),
    ...{
      retention: retentionOf(retention),
      cacheBytes,
      answerLimits,
      autoMigrate,
      walkedRows,
      maxWaiting,
      busyTimeoutMs,
      now,
      otherThreads,
    },
    ...{ onSurplus, readers, onUnsafe, checkpointListener, cascades, queries, watchdog, checks },
  }
}
