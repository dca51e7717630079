/** Other threads of this process that have the same SQLite file open. */
export interface OtherThreads {
  /** Another number than before whenever one of them has committed; told before the commit is acknowledged. */
  commits(): number
  /** This store has committed. */
  committed(): void
  /** Grows whenever a write of one of them was refused for a reason that is not its own. */
  failures(): number
  /** A write of this store was. */
  failed(): void
  readonly lock: {
    /** Whether one may write now. If not, calls `again` when it should be asked anew. */
    take(again: () => void): boolean
    /** Does nothing where it is not ours. */
    release(): void
  }
}

/** Of a store that has the file for itself, as far as this process goes. */
export const noOtherThreads: OtherThreads = {
  commits: () => 0,
  committed() {},
  failures: () => 0,
  failed() {},
  lock: { take: () => true, release() {} },
}
