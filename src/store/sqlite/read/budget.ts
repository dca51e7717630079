/**
 * How long a read may hold the event loop. A statement cannot be ended from outside, so it asks, every so many rows,
 * whether its time is over (`Dialect.budgetCheck`): a function that throws ends it, and the connection stays usable.
 */
import type { DatabaseSync } from 'node:sqlite'
import { budgetFunction } from '../../sql/sqlite.ts'

class BudgetSpent extends Error {}

/** One for all: it has no stack to be made for each. */
const spent = new BudgetSpent('the read takes too long for the event loop')

const unlimited = Number.POSITIVE_INFINITY

export class ReadBudget {
  readonly #budgetMs: number
  #endsAt = unlimited
  #halfMs = 0
  #isHalfSpent = false

  constructor(database: DatabaseSync, budgetMs: number) {
    this.#budgetMs = budgetMs
    database.function(budgetFunction, () => {
      if (this.#endsAt !== unlimited && performance.now() > this.#endsAt) this.#spend()
      return 1
    })
  }

  /** In two halves: a thread that the system lets wait once has not worked meanwhile. */
  #spend(): void {
    if (this.#isHalfSpent) throw spent
    this.#isHalfSpent = true
    this.#endsAt = performance.now() + this.#halfMs
  }

  /** Whether there is none: what is not surely quick does not begin on the event loop. */
  get isNone(): boolean {
    return this.#budgetMs === 0
  }

  /** What `read` returns; undefined where it took too long. */
  run<T>(read: () => T, budgetMs = this.#budgetMs): T | undefined {
    this.#halfMs = budgetMs / 2
    this.#endsAt = performance.now() + this.#halfMs
    this.#isHalfSpent = false
    try {
      return read()
    } catch (cause) {
      if (cause === spent) return undefined
      throw cause
    } finally {
      this.#endsAt = unlimited
    }
  }
}
