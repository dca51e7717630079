/** A pause between two runs of a task, by a clock that may be set back. */
import type { EpochMs } from './epoch-ms.ts'

export class Pause {
  #beganAt = 0
  #ms = 0

  begin(now: EpochMs, ms: number): void {
    this.#beganAt = now
    this.#ms = ms
  }

  end(): void {
    this.#ms = 0
  }

  /** True before the pause began, too: the clock was set back, and would not reach the end for as long as that. */
  isOver(now: EpochMs): boolean {
    return now < this.#beganAt || now >= this.#beganAt + this.#ms
  }
}
