/** References of a write: that each leads to a row that the caller may read. */
import { ApiError } from '../../errors.ts'
import type { Field } from '../../model/model.ts'
import type { ReferenceCheck } from '../../plan/guarded.ts'
import type { Dialect } from '../sql/dialect.ts'
import { referencesSql } from '../sql/write.ts'
import { join, name, type Sql, sql } from '../sql/writer.ts'
import type { Inputs } from '../values.ts'
import { noFields, notThere } from '../write/checks.ts'
import { isForeignKeyFailure, keyFields } from './failure.ts'
import { type Rows, type Statement, statementOf } from './statement.ts'
import type { Scope } from './transaction.ts'

export class References {
  readonly #checks: readonly ReferenceCheck[]
  readonly #statement: Statement | undefined
  /** A query with one column a reference: whether it leads to a row. */
  readonly sql: Sql

  constructor(checks: readonly ReferenceCheck[], dialect: Dialect) {
    this.#checks = checks
    this.sql = referencesSql(checks, dialect)
    this.#statement = checks.length === 0 ? undefined : statementOf(this.sql)
  }

  get isEmpty(): boolean {
    return this.#checks.length === 0
  }

  /** That all of them do, of a query's result named `alias`. */
  there(alias: string): Sql {
    const columns = this.#checks.map((_, index) => sql`${name(alias)}.${name(`r${index}`)}`)
    return join(columns, ' AND ')
  }

  ask(inputs: Inputs, scope: Scope): Promise<Rows> {
    return this.#statement === undefined ? Promise.resolve([]) : scope.rows(this.#statement, inputs)
  }

  /** Throws VALIDATION_FAILED on those that lead nowhere, but for unchanged ones. */
  require(rows: Rows, unchanged: ReadonlySet<Field> = noFields): void {
    const row = rows[0] ?? []
    const missing = this.#checks.filter(({ field }, index) => row[index] !== 1 && !unchanged.has(field))
    if (missing.length > 0) throw notThere(missing.map(({ field }) => field))
  }

  /** After a write that found one of them leading nowhere. */
  async fail(inputs: Inputs, scope: Scope): Promise<never> {
    this.require(await this.ask(inputs, scope))
    // The row has come meanwhile.
    throw new ApiError('UNAVAILABLE')
  }
}

/** The error for a change that the database refused. */
export function refused(cause: unknown, fields: readonly Field[]): unknown {
  if (!isForeignKeyFailure(cause)) return cause
  const missing = keyFields(cause)
  return notThere(
    fields.filter(field => missing.includes(field.name)),
    cause,
  )
}
