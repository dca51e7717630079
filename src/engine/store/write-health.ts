/** For readiness checks: whether recent commits show that changes can be stored. */

/** How long a commit counts as proof that changes can be stored, in milliseconds. */
const proofMs = 10_000

/** Counters of the other threads that write to the same file. */
export interface SharedHealth {
  commits(): number
  failures(): number
  addFailure(): void
}

const unshared: SharedHealth = { commits: () => 0, failures: () => 0, addFailure() {} }

export class WriteHealth {
  readonly #shared: SharedHealth
  readonly #clock: () => number
  #commits: number
  #failures: number
  #storedAt = Number.NEGATIVE_INFINITY
  #hasFailed = false

  /** `clock`: a monotonic clock, in milliseconds. */
  constructor(shared = unshared, clock: () => number = () => performance.now()) {
    this.#shared = shared
    this.#clock = clock
    this.#commits = shared.commits()
    this.#failures = shared.failures()
  }

  /** A commit that changed something is durable. After a failure it proves nothing: others may need what it did not. */
  recordCommit(): void {
    this.#storedAt = this.#clock()
  }

  /** A commit that needed all that ordinary writes need is durable. */
  recordProof(): void {
    this.recordCommit()
    this.#failures = this.#shared.failures()
    this.#hasFailed = false
  }

  /** A write failed for a reason that would fail other writes, too. */
  recordFailure(): void {
    this.#hasFailed = true
    this.#shared.addFailure()
  }

  /** Whether a recent commit was durable, and no write has failed since. */
  get isProven(): boolean {
    const commits = this.#shared.commits()
    if (commits !== this.#commits) this.#storedAt = this.#clock()
    this.#commits = commits
    if (this.#hasFailed || this.#shared.failures() !== this.#failures) return false
    return this.#clock() - this.#storedAt < proofMs
  }
}
