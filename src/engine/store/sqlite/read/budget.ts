/**
 * Limits how long a read may block the event loop. A statement cannot be interrupted from outside, so it calls a function
 * every so many rows (`Dialect.budgetCheck`). The function throws when the time is over, which ends the statement but leaves
 * the connection usable.
 */
import type { DatabaseSync } from 'node:sqlite'
import { budgetFunction } from '../../sql/sqlite.ts'

class BudgetSpentError extends Error {}

/** Shared: creating an error with its stack trace for each read would be slow. */
const budgetSpent = new BudgetSpentError('the read takes too long for the event loop')

const unlimited = Number.POSITIVE_INFINITY

/** A read that waits for a disk takes no processor time: by the clock, it ends after this many budgets. */
const maxBudgetsByClock = 20

/** The processor time of this thread, in milliseconds. It does not include the time for which the system suspends it. */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

export class ReadBudget {
  readonly #budgetMs: number
  #endsAt = unlimited
  #halfMs = 0
  /** The processor time at which the second half began; undefined: it has not. */
  #secondHalfAtMs: number | undefined
  /** By `performance.now()`. */
  #latestEnd = unlimited

  constructor(database: DatabaseSync, budgetMs: number) {
    this.#budgetMs = budgetMs
    database.function(budgetFunction, () => {
      if (this.#endsAt !== unlimited && performance.now() > this.#endsAt) this.#spend()
      return 1
    })
  }

  /**
   * The first half of the budget is measured by the clock, which is cheap, the second by processor time: the system may suspend
   * the thread, however often.
   */
  #spend(): void {
    const now = performance.now()
    const usedMs = processorMs()
    this.#secondHalfAtMs ??= usedMs
    const leftMs = this.#secondHalfAtMs + this.#halfMs - usedMs
    if (leftMs <= 0 || now > this.#latestEnd) throw budgetSpent
    this.#endsAt = now + leftMs
  }

  /** Whether the budget is 0: then only reads that are certainly fast run on the event loop. */
  get isZero(): boolean {
    return this.#budgetMs === 0
  }

  /** Returns the result of `read`; undefined if it took too long. */
  run<T>(read: () => T, budgetMs = this.#budgetMs): T | undefined {
    this.#halfMs = budgetMs / 2
    const now = performance.now()
    this.#endsAt = now + this.#halfMs
    this.#latestEnd = now + maxBudgetsByClock * budgetMs
    this.#secondHalfAtMs = undefined
    try {
      return read()
    } catch (cause) {
      if (cause === budgetSpent) return undefined
      throw cause
    } finally {
      this.#endsAt = unlimited
    }
  }
}
