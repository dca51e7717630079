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

export class ReadBudget {
  readonly #budgetMs: number
  #endsAt = unlimited
  #halfMs = 0
  #isHalfSpent = false

  constructor(database: DatabaseSync, budgetMs: number) {
    this.#budgetMs = budgetMs
    database.function(budgetFunction, () => {
      if (this.#endsAt !== unlimited && performance.now() > this.#endsAt) this.#spendHalf()
      return 1
    })
  }

  /** The budget has two halves: if the system suspends the thread once, only one half is lost. */
  #spendHalf(): void {
    if (this.#isHalfSpent) throw budgetSpent
    this.#isHalfSpent = true
    this.#endsAt = performance.now() + this.#halfMs
  }

  /** Whether the budget is 0: then only reads that are certainly fast run on the event loop. */
  get isZero(): boolean {
    return this.#budgetMs === 0
  }

  /** Returns the result of `read`; undefined if it took too long. */
  run<T>(read: () => T, budgetMs = this.#budgetMs): T | undefined {
    this.#halfMs = budgetMs / 2
    this.#endsAt = performance.now() + this.#halfMs
    this.#isHalfSpent = false
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
