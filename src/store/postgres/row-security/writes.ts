/** Writes with row security: what PostgreSQL supplies to them, without what the policies hide. */
import { ApiError } from '../../../errors.ts'
import type { Collection } from '../../../model/model.ts'
import { once } from '../../once.ts'
import { lockedPostgres } from '../../sql/postgres.ts'
import { deleteSql, rowSql } from '../../sql/write.ts'
import { name, type Sql, slot, sql } from '../../sql/writer.ts'
import { slotted } from '../../values.ts'
import { type Look, type LookOptions, noRow, type RemovalOf } from '../../write/database.ts'
import { referredElsewhere, type Walked } from '../../write/removal/cascade-set.ts'
import type { Rows, Steps, WriteScope } from '../../write/steps.ts'
import { isForeignKeyFailure } from '../connections/failure.ts'
import { type Statement, statementOf } from '../connections/statement.ts'
import { PostgresWrites } from '../write/database.ts'
import { deleteRule } from './policies.ts'

export class SecuredWrites extends PostgresWrites {
  override readonly dialect = lockedPostgres
  /** Returns a row if it deletes one. */
  readonly #remove = once((collection: Collection) =>
    statementOf(sql`${deleteSql(collection.name, slot(0))} RETURNING 1`),
  )

  /**
   * The caller's answer is read on their behalf, and is null if they may not read the row; the other outputs are for the log,
   * and are read on Portico's.
   */
  override look({ row, id, outputs, shown }: LookOptions): Look<Statement> {
    const whole = statementOf(rowSql(row, id, outputs.with(shown, sql`NULL`)))
    const seen = statementOf(rowSql(row, id, outputs.slice(shown, shown + 1)))
    return {
      asks: inputs => [
        { statement: whole, inputs, purpose: 'service' },
        { statement: seen, inputs },
      ],
      row: ([others, texts]) => (others?.[0] ?? noRow).with(shown, texts?.[0]?.[0] ?? null),
    }
  }

  /** Evaluates the policy. The database would do so only after the rows that go with this one are deleted. */
  permission(collection: Collection): Statement {
    const rule: Sql = [deleteRule(collection.name, this.model)]
    return statementOf(sql`SELECT 1 FROM ${name(collection.name)} WHERE "id" = ${slot(0)} AND (${rule})`)
  }

  /** A row that is deleted alone is deleted on the caller's behalf, others on Portico's own. */
  override *remove(
    walked: Walked<Statement>,
    removalOf: RemovalOf<Statement>,
    scope: WriteScope<Statement>,
  ): Steps<Statement, void> {
    const { cascadeSet, cleared } = walked
    const [item, ...others] = cascadeSet.items
    if (item === undefined || others.length > 0 || cascadeSet.again.length > 0 || cleared.size > 0) {
      return yield* super.remove(walked, removalOf, scope)
    }
    let gone: Rows | undefined
    try {
      const inputs = { ...slotted([item.id]), actor: undefined }
      ;[gone] = yield [{ statement: this.#remove(item.collection), inputs }]
    } catch (cause) {
      throw isForeignKeyFailure(cause) ? referredElsewhere(cause) : cause
    }
    // It is locked, so it exists: a policy hides it.
    if (gone?.length === 0) throw new ApiError('FORBIDDEN')
  }
}
