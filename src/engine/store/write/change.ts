/** The change of an update, once the row is locked and its changes are known. */
import { ApiError } from '../../../base/errors.ts'
import type { GuardedAssignment, GuardedUpdate } from '../../plan/guarded.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { answerSql, checksSql, updateSql } from '../sql/write.ts'
import { arg, name, type Sql, sql } from '../sql/writer.ts'
import type { Inputs, ResultRow, ResultRows, SqlValue } from '../values.ts'
import type { WriteDatabase } from './database.ts'
import { proposedChecks } from './proposed.ts'
import { stateSql } from './row-states.ts'
import type { QuerySteps, StepQuery, WriteScope } from './steps.ts'

export type ChangeRow<S> = (
  id: number,
  changed: readonly GuardedAssignment[],
  inputs: Inputs & { readonly slots: readonly SqlValue[] },
  scope: WriteScope<S>,
) => QuerySteps<S, ResultRow>

/** Changes the row and reads the result: in one round trip, unless its search terms are stored in between. */
export function rowChangeOf<S>(shape: GuardedUpdate, database: WriteDatabase<S>): ChangeRow<S> {
  const { collection, set } = shape
  const id = arg(shape.id)
  const row = new RowAlias(database.dialect, collection.name)
  const readBack = database.readBack({
    row,
    id,
    outputs: changedOutputs(shape, row, database),
    answerIndex: TEXT,
  })
  const index = set.some(({ field }) => field.searchable) ? database.searchIndex(collection) : undefined
  const returned = index === undefined ? [sql`1`] : collection.searchable.map(field => name(field.name))
  const statement =
    set.length === 0
      ? undefined
      : database.prepare(updateSql(collection, set, id, returned, database.dialect))
  const proposed = proposedChecks(shape, database)
  return function* change(itemId, changed, inputs, scope) {
    if (statement === undefined || changed.length === 0) return readBack.row(yield readBack.queries(inputs))
    if (proposed !== undefined) {
      const [rows] = yield [proposed.query(inputs)]
      proposed.require(rows)
    }
    const update: StepQuery<S> = { statement, inputs, purpose: 'change' }
    const isIndexed = index !== undefined && changed.some(({ field }) => field.searchable)
    let answers: readonly ResultRows[]
    try {
      answers = yield isIndexed ? [update] : [update, ...readBack.queries(inputs)]
    } catch (cause) {
      throw database.changeError(cause, set, inputs.slots)
    }
    const [updatedRows = [], ...readBackRows] = answers
    // The row exists, so row security withholds it.
    if (updatedRows[0] === undefined) throw new ApiError('FORBIDDEN')
    if (!isIndexed) return readBack.row(readBackRows)
    index.write(itemId, updatedRows[0], false, scope)
    return readBack.row(yield readBack.queries(inputs))
  }
}

/** Positions among the outputs of the changed row. */
export const TEXT = 0
export const STATE = 1
export const CHECKS = 3

/** The answer; the state for the event; the checks. */
function changedOutputs<S>(shape: GuardedUpdate, row: RowAlias, database: WriteDatabase<S>): Sql[] {
  const { select, rows, after } = shape
  return [answerSql(select, rows, row), ...updateStateSql(shape, row, database), ...checksSql(after, row)]
}

/** The outputs of the state of an updated row, before or after. */
export function updateStateSql<S>(
  shape: GuardedUpdate,
  row: RowAlias,
  { model }: WriteDatabase<S>,
): readonly Sql[] {
  return mayLogEvent(shape) ? stateSql(shape.collection, model, row) : [['NULL'], ['NULL']]
}

/** Whether an update may leave an event. */
function mayLogEvent({ collection, set }: GuardedUpdate): boolean {
  return !collection.unlogged && set.some(({ field }) => !field.internal)
}

/** `updated_at` alone is no change. */
export function realChanges(changed: readonly GuardedAssignment[]): readonly GuardedAssignment[] {
  return changed.every(({ field }) => field.name === 'updated_at') ? [] : changed
}
