/** SQLite's part of writes. Only one transaction writes at a time, so rows are not locked. */

import type { Watchdog } from '../../../../base/watchdog/watchdog.ts'
import type { Collection, Model } from '../../../../model/model.ts'
import type { GuardedAssignment, GuardedCreate } from '../../../plan/guarded.ts'
import { memoised } from '../../memoised.ts'
import { sqlite } from '../../sql/sqlite.ts'
import { insertSql, rowSql } from '../../sql/write.ts'
import { name, type Sql, slot, sql } from '../../sql/writer.ts'
import { type ResultRows, type SqlValue, slotInputs } from '../../values.ts'
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
import type { Referrer, RemovalEffects } from '../../write/removal/cascade-set.ts'
import {
  isCheck,
  noAnswers,
  type QuerySteps,
  type RunCheck,
  refuseCheck,
  type StepQuery,
} from '../../write/steps.ts'
import type { Connection } from '../connection.ts'
import { isForeignKeyFailure } from '../failure.ts'
import type { Statement } from '../statement.ts'
import { SearchIndex } from './search-index.ts'

export class SqliteWrites implements WriteDatabase<Statement> {
  readonly model: Model
  readonly watchdog: Watchdog
  readonly checks: ReadingChecks | undefined
  readonly dialect = sqlite
  readonly #connection: Connection
  /** Makes a row refer to the negative of its own id, which no row has, while foreign keys are deferred. */
  readonly #detach: (referrer: Referrer<Statement>) => Statement

  constructor(model: Model, connection: Connection, { watchdog, checks }: ModelCode) {
    this.model = model
    this.watchdog = watchdog
    this.checks = checks
    this.#connection = connection
    this.#detach = memoised(({ collection, field }) =>
      connection.prepare(
        sql`UPDATE ${name(collection.name)} SET ${name(field.name)} = -"id" WHERE "id" = ${slot(0)}`,
      ),
    )
  }

  readonly prepare = (fragment: Sql): Statement => this.#connection.prepare(fragment)

  insertion(
    { collection, set }: GuardedCreate,
    _: References<Statement>,
    outputs: readonly Sql[],
  ): Insertion<Statement> {
    const fields = set.map(({ field }) => field)
    return { statement: this.prepare(insertSql(collection, fields, outputs)), checksReferences: false }
  }

  readBack({ row, id, outputs }: ReadBackOptions): ReadBack<Statement> {
    return plainReadBack(this.prepare(rowSql(row, id, outputs)))
  }

  /**
   * Deletes the rows that were found last first, and breaks cycles, so that SQLite has nothing to cascade: its cascades nest
   * at most 1,000 deep. Other references between the rows may go in any direction, so they are checked at the end.
   */
  *remove(
    { cascadeSet: { items, repeated: again } }: RemovalEffects<Statement>,
    removalOf: RemovalOf<Statement>,
  ): QuerySteps<Statement, void> {
    const isAlone = items.length === 1
    if (!isAlone) this.#connection.deferReferences(true)
    try {
      if (!isAlone) for (const { id, referrer } of again) this.#detach(referrer).run(slotInputs([id]))
      yield items.toReversed().map(({ collection, id }) => {
        return { statement: removalOf(collection), inputs: slotInputs([id]) }
      })
    } finally {
      if (!isAlone) this.#connection.deferReferences(false)
    }
  }

  searchIndex(collection: Collection): SearchIndex | undefined {
    return collection.searchable.length === 0 ? undefined : new SearchIndex(collection, this.#connection)
  }

  /** SQLite does not name the column of a failed foreign key, so each reference is looked up. */
  changeError(cause: unknown, set: readonly GuardedAssignment[], values: readonly SqlValue[]): unknown {
    if (!isForeignKeyFailure(cause)) return cause
    const missing = set.filter(({ field }, index) => {
      const value = values[index]
      if (!field.reference || value === null || value === undefined) return false
      const reference = this.prepare(
        sql`SELECT 1 FROM ${name(field.reference.target)} WHERE "id" = ${slot(0)}`,
      )
      return reference.get(slotInputs([value])) === undefined
    })
    return missingAssignmentError(missing, cause)
  }
}

/** Runs the steps to their end, synchronously. `runCheck` is omitted for steps that are no writes of items. */
export function runSteps<T>(steps: QuerySteps<Statement, T>, runCheck: RunCheck<void> = refuseCheck): T {
  let step = steps.next()
  while (!step.done) {
    let rows = noAnswers
    try {
      if (isCheck(step.value)) runCheck(step.value)
      else rows = step.value.map(rowsOf)
    } catch (cause) {
      step = steps.throw(cause)
      continue
    }
    step = steps.next(rows)
  }
  return step.value
}

const noRows: ResultRows = []

function rowsOf(query: StepQuery<Statement> | undefined): ResultRows {
  return query === undefined ? noRows : query.statement.all(query.inputs)
}
