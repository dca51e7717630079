/** References that a write sets: each must name an existing row that the caller may read. */
import { ApiError } from '../../../base/errors.ts'
import type { Field } from '../../../model/model.ts'
import type { ReferenceCheck } from '../../plan/guarded.ts'
import type { Dialect } from '../sql/dialect.ts'
import { referencesSql } from '../sql/write.ts'
import type { Sql } from '../sql/writer.ts'
import { type Inputs, noSlots, type ResultRows } from '../values.ts'
import { missingReferenceError, noFields } from './checks.ts'
import type { QuerySteps, StepQuery } from './steps.ts'

interface StatementSource<S> {
  readonly dialect: Dialect
  prepare(fragment: Sql): S
}

export class References<S> {
  readonly checks: readonly ReferenceCheck[]
  /** A query with one column a reference: see `referencesSql`. */
  readonly sql: Sql
  readonly #statement: S | undefined

  constructor(checks: readonly ReferenceCheck[], { dialect, prepare }: StatementSource<S>) {
    this.checks = checks
    this.sql = referencesSql(checks, dialect)
    this.#statement = checks.length === 0 ? undefined : prepare(this.sql)
  }

  query({ args, userId, now, caller }: Inputs): StepQuery<S> | undefined {
    const statement = this.#statement
    const inputs = { args, userId, slots: noSlots, now, caller }
    return statement && { statement, inputs, purpose: 'references' }
  }

  /** Throws VALIDATION_FAILED if a referenced row is missing. `rows`: the answer to `query`; `unchanged`: fields not to check. */
  require(rows: ResultRows | undefined, unchanged: ReadonlySet<Field> = noFields): void {
    if (this.checks.length === 0) return
    const row = rows?.[0] ?? []
    const missing = this.checks.filter(({ field }, index) => row[index] !== 1 && !unchanged.has(field))
    if (missing.length > 0) throw missingReferenceError(missing.map(({ field }) => field))
  }

  /** After an INSERT that inserted nothing because a referenced row was missing. */
  *fail(inputs: Inputs): QuerySteps<S, never> {
    const [rows] = yield [this.query(inputs)]
    this.require(rows)
    // The row was created in the meantime.
    throw new ApiError('UNAVAILABLE')
  }
}
