/** PostgreSQL's part of writes with row security: policies hide some of the rows. */
import { ApiError } from '../../../../base/errors.ts'
import type { Collection } from '../../../../model/model.ts'
import { memoised } from '../../memoised.ts'
import { rowSecurityPostgres } from '../../sql/postgres.ts'
import { deleteSql, rowSql } from '../../sql/write.ts'
import { name, type Sql, slot, sql } from '../../sql/writer.ts'
import { type ResultRows, slotInputs } from '../../values.ts'
import { noRow, type ReadBack, type ReadBackOptions, type RemovalOf } from '../../write/database.ts'
import { type RemovalEffects, unknownReferenceError } from '../../write/removal/cascade-set.ts'
import type { QuerySteps, WriteScope } from '../../write/steps.ts'
import { isForeignKeyFailure } from '../connections/failure.ts'
import { type Statement, statementOf } from '../connections/statement.ts'
import { PostgresWrites } from '../write/database.ts'
import { deleteRule } from './policies.ts'

export class SecuredWrites extends PostgresWrites {
  override readonly dialect = rowSecurityPostgres
  /** Returns a row if it deletes one. */
  readonly #remove = memoised((collection: Collection) =>
    statementOf(sql`${deleteSql(collection.name, slot(0))} RETURNING 1`),
  )

  /**
   * The caller's answer is read on their behalf, and is null if they may not read the row. The other outputs are for the log,
   * and are read on Portico's behalf.
   */
  override readBack({ row, id, outputs, answerIndex }: ReadBackOptions): ReadBack<Statement> {
    const othersStatement = statementOf(rowSql(row, id, outputs.with(answerIndex, sql`NULL`)))
    const answerStatement = statementOf(rowSql(row, id, outputs.slice(answerIndex, answerIndex + 1)))
    return {
      queries: inputs => [
        { statement: othersStatement, inputs, purpose: 'service' },
        { statement: answerStatement, inputs },
      ],
      row: ([others, texts]) => (others?.[0] ?? noRow).with(answerIndex, texts?.[0]?.[0] ?? null),
    }
  }

  /** Evaluates the policy. The database would do so only after the rows that depend on this one are deleted. */
  permission(collection: Collection): Statement {
    const rule: Sql = [deleteRule(collection.name, this.model)]
    return statementOf(sql`SELECT 1 FROM ${name(collection.name)} WHERE "id" = ${slot(0)} AND (${rule})`)
  }

  /** A row that is deleted alone is deleted on the caller's behalf, others on Portico's own. */
  override *remove(
    effects: RemovalEffects<Statement>,
    removalOf: RemovalOf<Statement>,
    scope: WriteScope<Statement>,
  ): QuerySteps<Statement, void> {
    const { cascadeSet, cleared } = effects
    const [item, ...others] = cascadeSet.items
    if (item === undefined || others.length > 0 || cascadeSet.repeated.length > 0 || cleared.size > 0) {
      return yield* super.remove(effects, removalOf, scope)
    }
    let deletedRows: ResultRows | undefined
    try {
      const inputs = { ...slotInputs([item.id]), actor: undefined }
      ;[deletedRows] = yield [{ statement: this.#remove(item.collection), inputs }]
    } catch (cause) {
      throw isForeignKeyFailure(cause) ? unknownReferenceError(cause) : cause
    }
    // The row is locked, so it exists: a policy hides it.
    if (deletedRows?.length === 0) throw new ApiError('FORBIDDEN')
  }
}
