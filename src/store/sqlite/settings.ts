/** What may be set of a store on SQLite, and its defaults. */
import { resolve } from 'node:path'
import { createTimeLimit, type TimeLimit } from '../../time-limit.ts'
import type { StatisticsOptions } from '../advice/statistics.ts'
import { type Retention, retentionOf } from '../log/pruning.ts'
import type { OnCascade } from '../write/removal/cascades.ts'
import { noOtherThreads, type OtherThreads } from './file/other-threads.ts'

export interface SqliteOptions {
  /** The database file, or `:memory:`. Its folder is made when missing. */
  readonly file: string
  /** How much memory remembered answers may take; 0: none is remembered. 64 MiB by default. */
  readonly cacheBytes?: number
  /** Whether what the model only adds is added to the tables at once. True by default. */
  readonly autoMigrate?: boolean
  /** Without `autoMigrate`: see `Start`. */
  readonly onSurplus?: ((sentences: readonly string[]) => void) | undefined
  readonly retention?: Partial<Retention> | undefined
  /** How many writes may wait for a commit. 10,000 by default. */
  readonly maxWaiting?: number
  /** How long to wait for another process's write, in milliseconds. 5,000 by default. */
  readonly busyTimeout?: number
  /** Processes for reads that take long; left out: every read is answered on the event loop. See `ReaderPool`. */
  readonly readers?: ReadersOptions | undefined
  /**
   * How many rows of a list are looked at one by one for conditions on related rows, before the ids that match are
   * gathered. 500 by default, which take under half a millisecond.
   */
  readonly walkedRows?: number
  /** Other threads of this process with the same file. */
  readonly otherThreads?: OtherThreads | undefined
  /** Called when only a new start of the process can make the file whole again: see `sqlite/checkpoints.ts`. */
  readonly onUnsafe?: (cause: unknown) => void
  /** Called for each deletion that takes many items with it, before its commit. */
  readonly onCascade?: OnCascade | undefined
  /** Bounds the model's own code; by default nobody hears of it. */
  readonly timeLimit?: TimeLimit | undefined
  /** The time, in milliseconds since 1970. */
  readonly now?: () => number
  /** What is to be known of what reads cost; left out: nothing. */
  readonly queries?: StatisticsOptions | undefined
}

export interface ReadersOptions {
  /** How many processes there are at most; 0: none. */
  readonly count: number
  /** How long a slow read may take from when it was asked for, in milliseconds. */
  readonly timeoutMs: number
  /** How long a read may hold the event loop before it is moved to a process, in milliseconds; 0: it begins there. 2 by default. */
  readonly budgetMs?: number
  /** See `ReaderPoolOptions`. */
  readonly idleMs?: number
  readonly onLost?: (cause: unknown) => void
}

const mebibyte = 1024 * 1024

export type Settings = ReturnType<typeof settled>

export function settled(options: SqliteOptions) {
  const { cacheBytes = 64 * mebibyte, autoMigrate = true, retention, walkedRows = 500 } = options
  const { maxWaiting = 10_000, busyTimeout = 5000, now = Date.now, otherThreads = noOtherThreads } = options
  const { onSurplus, readers, onUnsafe, onCascade, queries, timeLimit = createTimeLimit() } = options
  return {
    file: options.file === ':memory:' ? options.file : resolve(options.file),
    ...{
      retention: retentionOf(retention),
      cacheBytes,
      autoMigrate,
      walkedRows,
      maxWaiting,
      busyTimeout,
      now,
      otherThreads,
    },
    ...{ onSurplus, readers, onUnsafe, onCascade, queries, timeLimit },
  }
}
