/** What updates ask for on every database, and what they make of the answers. */
import type { Field } from '../../model/model.ts'
import type { GuardedAssignment, GuardedUpdate } from '../../plan/guarded.ts'
import { conditionSql } from '../sql/condition.ts'
import type { Row } from '../sql/row.ts'
import { objectSql } from '../sql/select.ts'
import { changesSql, checksSql, eventSql, shownSql } from '../sql/write.ts'
import { type Sql, sql } from '../sql/writer.ts'
import type { ResultRow } from '../values.ts'
import { documentOutputs, type MergedDocument } from './documents.ts'

/** Where the checks begin among the outputs of the stored row. */
export const STORED_CHECKS = 2
/** Among those of the changed one. */
export const TEXT = 0
export const EVENT = 1
export const CHECKS = 2

export function fieldsOf(set: readonly GuardedAssignment[]): readonly Field[] {
  return set.map(one => one.field)
}

/** Visible; the representation; the checks; whether each assignment changes something; the documents. */
export function storedOutputs(
  { rows, representation, before, set, ifMatch }: GuardedUpdate,
  row: Row,
): Sql[] {
  return [
    sql`(${conditionSql(rows, row)})`,
    ifMatch === undefined ? ['NULL'] : row.dialect.text(objectSql(representation, row)),
    ...checksSql(before, row),
    ...set.map((one, index) => changesSql(one, index, row)),
    ...documentOutputs(set, row),
  ]
}

export function changedOutputs({ select, rows, collection, after }: GuardedUpdate, row: Row): Sql[] {
  return [shownSql(select, rows, row), eventSql(collection, row), ...checksSql(after, row)]
}

/** Whether each assignment changes something: by its column, or by the document that was merged. */
export function changesOf(
  set: readonly GuardedAssignment[],
  stored: ResultRow,
  at: number,
  documents: readonly MergedDocument[],
): readonly boolean[] {
  const changes = set.map((_, index) => stored[at + index] === 1)
  for (const { index, changed } of documents) changes[index] = changed
  return changes
}

/** The assignments that change something. `updated_at` alone is no change. */
export function changedFields(
  set: readonly GuardedAssignment[],
  changes: readonly boolean[],
): readonly GuardedAssignment[] {
  const changed = set.filter((_, index) => changes[index])
  return changed.every(({ field }) => field.name === 'updated_at') ? [] : changed
}
