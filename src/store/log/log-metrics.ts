/** The state of the log, as this process last saw it, for metrics. */
import type { LogCounts } from '../store.ts'
import type { LogExtent } from './pruning.ts'

export class LogMetrics {
  #extent: LogExtent = { oldest: 0, newest: 0, bytes: 0 }
  #pruned = 0

  looked(extent: LogExtent): void {
    this.#extent = extent
  }

  pruned(count: number): void {
    this.#pruned += count
  }

  get counts(): LogCounts {
    return { ...this.#extent, pruned: this.#pruned }
  }
}
