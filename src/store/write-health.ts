/** What commits tell of whether changes can be stored, for readiness checks. */

/** How long a commit proves that the next one can be stored, in milliseconds. */
const proofMs = 10_000

/** What other threads that write to the same file tell: numbers that grow. */
export interface SharedHealth {
  commits(): number
  failures(): number
  failed(): void
}

const alone: SharedHealth = { commits: () => 0, failures: () => 0, failed() {} }

export class WriteHealth {
  readonly #shared: SharedHealth
  readonly #clock: () => number
  #commits: number
  #failures: number
  #storedAt = Number.NEGATIVE_INFINITY
  #isSuspect = false

  /** `clock`: in milliseconds, from any origin. */
  constructor(shared = alone, clock: () => number = () => performance.now()) {
    this.#shared = shared
    this.#clock = clock
    this.#commits = shared.commits()
    this.#failures = shared.failures()
  }

  /** A commit that changed something is durable. */
  stored(): void {
    this.#storedAt = this.#clock()
    this.#failures = this.#shared.failures()
    this.#isSuspect = false
  }

  /** A write was refused for a reason that is not its own. */
  suspect(): void {
    this.#isSuspect = true
    this.#shared.failed()
  }

  /** Whether a commit has just shown that changes can be stored, and none has failed since. */
  get isProven(): boolean {
    const commits = this.#shared.commits()
    if (commits !== this.#commits) this.#storedAt = this.#clock()
    this.#commits = commits
    if (this.#isSuspect || this.#shared.failures() !== this.#failures) return false
    return this.#clock() - this.#storedAt < proofMs
  }
}
