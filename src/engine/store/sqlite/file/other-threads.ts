/** Other threads of this process that have the same SQLite file open. */
export interface OtherThreads {
  /** Changes with each of their commits, before the commit is acknowledged. */
  commits(): number
  /** This store has committed. */
  committed(): void
  /** Increases whenever one of their writes is refused for a reason that would fail other writes, too. */
  failures(): number
  /** A write of this store was refused for such a reason. */
  addFailure(): void
  readonly lock: {
    /** Returns whether this store may write now. If not, calls `retry` when it should try again. */
    take(retry: () => void): boolean
    /** Does nothing if this store does not hold the lock. */
    release(): void
  }
}

/** For a store that no other thread of this process shares. */
export const noOtherThreads: OtherThreads = {
  commits: () => 0,
  committed() {},
  failures: () => 0,
  addFailure() {},
  lock: { take: () => true, release() {} },
}
