/** What the commits tell of whether changes can be stored, for readiness checks. */

/** How long a commit proves that the next one can be stored, in milliseconds. */
const PROOF_MS = 10_000

export class WriteHealth {
  readonly #clock: () => number
  #storedAt = Number.NEGATIVE_INFINITY
  #isSuspect = false

  /** `clock`: in milliseconds, from any origin. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  /** A commit that changed something is durable. */
  stored(): void {
    this.#storedAt = this.#clock()
    this.#isSuspect = false
  }

  /** A write was refused for a reason that is not its own. */
  suspect(): void {
    this.#isSuspect = true
  }

  /** Whether a commit has just shown that changes can be stored, and none has failed since. */
  get isProven(): boolean {
    return !this.#isSuspect && this.#clock() - this.#storedAt < PROOF_MS
  }
}
