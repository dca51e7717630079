/** The options of a store on PostgreSQL, and their defaults. */

import type { EpochMs } from '../../../../base/epoch-ms.ts'
import { createWatchdog, type Watchdog } from '../../../../base/watchdog/watchdog.ts'
import { type AnswerLimits, defaultAnswerLimits } from '../../../plan/answer-bound.ts'
import type { StatisticsOptions } from '../../advice/statistics.ts'
import { type Retention, retentionOf } from '../../log/pruning.ts'
import type { ReadingChecks } from '../../write/model-code.ts'
import type { CascadeOptions } from '../../write/removal/cascades.ts'

export interface ReplicaSettings {
  readonly url: string
  /** Called with the reason when the replica is no longer used, and with undefined when it is used again. */
  readonly onChange?: (trouble: string | undefined) => void
}

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database?sslmode=…` */
  readonly url: string
  /** The maximum number of this node's connections to each server. 8 by default, at least 4. */
  readonly connections?: number
  /** Hot standbys that answer reads. */
  readonly replicas?: readonly ReplicaSettings[] | undefined
  /** How long a statement may take, in milliseconds. 10,000 by default. */
  readonly timeoutMs?: number
  /** The maximum memory for cached answers, in bytes; 0: no cache. 64 MiB by default. */
  readonly cacheBytes?: number
  /** The maximum size of answers; by default as the settings have it. */
  readonly answerLimits?: AnswerLimits | undefined
  /** Whether additive changes of the model are applied at the start. True by default. */
  readonly autoMigrate?: boolean
  /** Without `autoMigrate`: see `Start`. */
  readonly onSurplus?: ((sentences: readonly string[]) => void) | undefined
  /** Whether row security enforces the model's rules as well. False by default. */
  readonly rowSecurity?: boolean
  readonly retention?: Partial<Retention> | undefined
  /** How many reads, and how many writes, may wait. 10,000 by default. */
  readonly maxWaiting?: number
  /** Called for each deletion that cascades to many items, before its commit. */
  readonly cascades?: CascadeOptions | undefined
  /** Bounds the time of the model's own code; by default without a listener. */
  readonly watchdog?: Watchdog | undefined
  /** What runs the model's checks that read. Required for a model that has some. */
  readonly checks?: ReadingChecks | undefined
  /** Omitted: the process's clock, and in access rules the database's. */
  readonly now?: () => EpochMs
  /** How to record the cost of reads. Omitted: it is not recorded. */
  readonly queries?: StatisticsOptions | undefined
}

const mebibyte = 1024 * 1024

export type PostgresSettings = ReturnType<typeof postgresSettings>

export function postgresSettings(options: PostgresOptions) {
  const { url, connections = 8, replicas = [], timeoutMs = 10_000, cacheBytes = 64 * mebibyte } = options
  const { autoMigrate = true, rowSecurity = false, answerLimits = defaultAnswerLimits } = options
  const { maxWaiting = 10_000, now = Date.now, queries, watchdog = createWatchdog() } = options
  const lanes = Math.max(1, Math.floor(connections / 4))
  return {
    ...{ url, connections, lanes, replicas, timeoutMs, cacheBytes, answerLimits },
    ...{
      retention: retentionOf(options.retention),
      autoMigrate,
      rowSecurity,
      maxWaiting,
      now,
      clock: options.now,
      queries,
      code: { watchdog, checks: options.checks },
      cascades: options.cascades,
    },
  }
}
