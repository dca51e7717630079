/** PostgreSQL's part of writes. Other transactions write at the same time. */

import type { Watchdog } from '../../../../base/watchdog/watchdog.ts'
import type { Collection, Field, Model } from '../../../../model/model.ts'
import type { GuardedAssignment, GuardedCreate } from '../../../plan/guarded.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { postgres, withoutCollation } from '../../sql/postgres.ts'
import { insertSql, rowSql } from '../../sql/write.ts'
import { join, name, type Sql, slot, sql } from '../../sql/writer.ts'
import { noInputs, slotInputs } from '../../values.ts'
import { missingAssignmentError } from '../../write/checks.ts'
import {
  type Insertion,
  plainReadBack,
  type ReadBack,
  type ReadBackOptions,
  type RemovalOf,
  type WriteDatabase,
} from '../../write/database.ts'
import type { ModelCode, ReadingChecks } from '../../write/model-code.ts'
import type { References } from '../../write/references.ts'
import { type RemovalEffects, unknownReferenceError } from '../../write/removal/cascade-set.ts'
import type { QuerySteps, StepQuery, WriteScope } from '../../write/steps.ts'
import { isForeignKeyFailure, keyFields } from '../connections/failure.ts'
import { type Statement, statementOf } from '../connections/statement.ts'
import { SearchIndex } from './search-index.ts'

const defer = statementOf(sql`SET CONSTRAINTS ALL DEFERRED`)
const undefer = statementOf(sql`SET CONSTRAINTS ALL IMMEDIATE`)

export class PostgresWrites implements WriteDatabase<Statement> {
  readonly model: Model
  readonly watchdog: Watchdog
  readonly checks: ReadingChecks | undefined
  readonly dialect: Dialect = postgres
  readonly prepare = statementOf
  readonly locks = { change: sql` FOR NO KEY UPDATE`, remove: sql` FOR UPDATE` }

  constructor(model: Model, { watchdog, checks }: ModelCode) {
    this.model = model
    this.watchdog = watchdog
    this.checks = checks
  }

  /** An advisory lock, not one of the row that `value` may refer to: only writers that add to the group wait for it. */
  locksGroup(key: Sql, value: Sql | undefined): Sql {
    const text = value === undefined ? key : sql`${key} || ${value}::text`
    return sql`pg_advisory_xact_lock(hashtextextended(${text}, 0))`
  }

  insertion(
    { collection, set }: GuardedCreate,
    references: References<Statement>,
    outputs: readonly Sql[],
  ): Insertion<Statement> {
    const fields = set.map(({ field }) => field)
    const fragment =
      references.checks.length === 0
        ? insertSql(collection, fields, outputs)
        : checkedInsertSql(collection, fields, references, outputs)
    return { statement: statementOf(fragment), checksReferences: true }
  }

  readBack({ row, id, outputs }: ReadBackOptions): ReadBack<Statement> {
    return plainReadBack(statementOf(rowSql(row, id, outputs)))
  }

  /**
   * Deletes the rows that were found last first, and breaks cycles, as on SQLite. Other references between the rows may go in
   * any direction, so they are checked at the end.
   */
  *remove(
    { cascadeSet: { items, repeated: again } }: RemovalEffects<Statement>,
    removalOf: RemovalOf<Statement>,
    scope: WriteScope<Statement>,
  ): QuerySteps<Statement, void> {
    const isAlone = items.length === 1
    if (!isAlone) scope.defer(defer, noInputs)
    for (const { id, referrer } of again) {
      if (referrer.field.optional) scope.defer(referrer.clear, slotInputs([id, scope.at]))
    }
    const queries: StepQuery<Statement>[] = items.toReversed().map(({ collection, id }) => {
      return { statement: removalOf(collection), inputs: slotInputs([id]) }
    })
    if (!isAlone) queries.push({ statement: undefer, inputs: noInputs })
    try {
      yield queries
    } catch (cause) {
      throw isForeignKeyFailure(cause) ? unknownReferenceError(cause) : cause
    }
  }

  searchIndex(collection: Collection): SearchIndex | undefined {
    return collection.searchable.length === 0 ? undefined : new SearchIndex(collection)
  }

  changeError(cause: unknown, set: readonly GuardedAssignment[]): unknown {
    if (!isForeignKeyFailure(cause)) return cause
    const missing = keyFields(cause)
    return missingAssignmentError(
      set.filter(({ field }) => missing.includes(field.name)),
      cause,
    )
  }
}

/** Inserts nothing if a referenced row is missing. */
function checkedInsertSql(
  collection: Collection,
  fields: readonly Field[],
  references: References<Statement>,
  outputs: readonly Sql[],
): Sql {
  const columns = join(
    fields.map(field => name(field.name)),
    ', ',
  )
  const values = fields.map(
    ({ type }, index): Sql => [slot(index), `::${withoutCollation(type.encoding.postgres.type)}`],
  )
  const allFound = join(
    references.checks.map((_, index) => sql`"refs".${name(`r${index}`)}`),
    ' AND ',
  )
  return sql`WITH "refs" AS MATERIALIZED (${references.sql}) INSERT INTO ${name(collection.name)} (${columns}) SELECT ${join(values, ', ')} FROM "refs" WHERE ${allFound} RETURNING ${join(outputs, ', ')}`
}
