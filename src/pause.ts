/** A pause between two runs of a task, by a clock that may be set back. */
export class Pause {
  #beganAt = 0
  #ms = 0

  /** `now`: in milliseconds since 1970, here and below. */
  begin(now: number, ms: number): void {
    this.#beganAt = now
    this.#ms = ms
  }

  end(): void {
    this.#ms = 0
  }

  /** True before the pause began, too: the clock was set back, and would not reach the end for as long as that. */
  isOver(now: number): boolean {
    return now < this.#beganAt || now >= this.#beganAt + this.#ms
  }
}
