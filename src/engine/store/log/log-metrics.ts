/** The state of the log for metrics, as of this process's last check. */
import type { LogCounts } from '../store.ts'
import type { LogExtent } from './pruning.ts'

export class LogMetrics {
  #extent: LogExtent = { oldest: 0, newest: 0, bytes: 0 }
  #pruned = 0

  update(extent: LogExtent): void {
    this.#extent = extent
  }

  addPruned(count: number): void {
    this.#pruned += count
  }

  get counts(): LogCounts {
    return { ...this.#extent, pruned: this.#pruned }
  }
}
