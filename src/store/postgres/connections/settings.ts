/** What may be set of a store on PostgreSQL, and what it is by itself. */

import { createTimeLimit, type TimeLimit } from '../../../time-limit.ts'
import type { StatisticsOptions } from '../../advice/statistics.ts'
import { type Retention, retentionOf } from '../../log/pruning.ts'
import type { OnCascade } from '../../write/removal/cascades.ts'

export interface ReplicaSettings {
  readonly url: string
  /** It is left out for this reason; undefined: it is used again. */
  readonly onChange?: (trouble: string | undefined) => void
}

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database?sslmode=…` */
  readonly url: string
  /** How many connections this node may hold, to each server. 8 by default; no fewer than 4. */
  readonly connections?: number
  /** Hot standbys that answer reads. */
  readonly replicas?: readonly ReplicaSettings[] | undefined
  /** How long a statement may take, in milliseconds. 10,000 by default. */
  readonly timeout?: number
  /** How much memory remembered answers may take; 0: none is remembered. 64 MiB by default. */
  readonly cacheBytes?: number
  /** Whether what the model only adds is added to the tables at once. True by default. */
  readonly autoMigrate?: boolean
  /** Without `autoMigrate`: see `Start`. */
  readonly onSurplus?: ((sentences: readonly string[]) => void) | undefined
  /** Whether policies made of the model's rules lock the rows. False by default. */
  readonly rowSecurity?: boolean
  readonly retention?: Partial<Retention> | undefined
  /** How many reads, and how many writes, may wait. 10,000 by default. */
  readonly maxWaiting?: number
  /** Called for each deletion that takes many items with it, before its commit. */
  readonly onCascade?: OnCascade | undefined
  /** Bounds the model's own code; by default nobody hears of it. */
  readonly timeLimit?: TimeLimit | undefined
  /** The time, in milliseconds since 1970. Left out: the process's clock, and in access rules the database's. */
  readonly now?: () => number
  /** What is to be known of what reads cost; left out: nothing. */
  readonly queries?: StatisticsOptions | undefined
}

const mebibyte = 1024 * 1024

export type Settings = ReturnType<typeof settled>

export function settled(options: PostgresOptions) {
  const { url, connections = 8, replicas = [], timeout = 10_000, cacheBytes = 64 * mebibyte } = options
  const { autoMigrate = true, rowSecurity = false } = options
  const { maxWaiting = 10_000, now = Date.now, queries, timeLimit = createTimeLimit() } = options
  const lanes = Math.max(1, Math.floor(connections / 4))
  return {
    ...{ url, connections, lanes, replicas, timeout, cacheBytes },
    ...{
      retention: retentionOf(options.retention),
      autoMigrate,
      rowSecurity,
      maxWaiting,
      now,
      clock: options.now,
      queries,
      timeLimit,
      onCascade: options.onCascade,
    },
  }
}
