/** Prepared statements of SQLite. */
import type { StatementSync } from 'node:sqlite'
import type { Bind } from '../sql/writer.ts'
import { type Inputs, parameterValue, type ResultRow, type SqlValue } from '../values.ts'
import { isConstraintFailure } from './failure.ts'

/** How many statements of a connection may have changed something. */
export interface ChangeCounter {
  count: number
}

/** A prepared statement whose rows are arrays. */
export class Statement {
  readonly #prepared: StatementSync
  readonly #binds: readonly Bind[]
  /** Undefined for a statement that only reads. */
  readonly #changes: ChangeCounter | undefined

  constructor(prepared: StatementSync, binds: readonly Bind[], changes: ChangeCounter | undefined) {
    this.#prepared = prepared
    this.#binds = binds
    this.#changes = changes
    prepared.setReturnArrays(true)
  }

  get(inputs: Inputs): ResultRow | undefined {
    try {
      const row: unknown = this.#prepared.get(...this.#values(inputs))
      if (this.#changes !== undefined) this.#changes.count++
      return row as ResultRow | undefined
    } catch (cause) {
      throw this.#countFailure(cause)
    }
  }

  all(inputs: Inputs): readonly ResultRow[] {
    try {
      const rows: unknown = this.#prepared.all(...this.#values(inputs))
      if (this.#changes !== undefined) this.#changes.count++
      return rows as readonly ResultRow[]
    } catch (cause) {
      throw this.#countFailure(cause)
    }
  }

  /**
   * Not `StatementSync.run`: it reads the last inserted rowid. After the full-text index has merged its segments that is
   * a rowid of the index, beyond 2^53, and Node throws.
   */
  run(inputs: Inputs): void {
    this.get(inputs)
  }

  /**
   * SQLite undoes a statement that fails by a constraint (https://sqlite.org/lang_conflict.html). A statement that fails
   * otherwise, or whose result Node refuses, may have changed something.
   */
  #countFailure(cause: unknown): unknown {
    if (this.#changes !== undefined && !isConstraintFailure(cause)) this.#changes.count++
    return cause
  }

  #values(inputs: Inputs): SqlValue[] {
    const values: SqlValue[] = []
    for (const bind of this.#binds) values.push(parameterValue(bind, inputs))
    return values
  }
}
