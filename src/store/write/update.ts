/** What updates ask for on every database, and what they make of the answers. */
import { ApiError } from '../../errors.ts'
import type { Field } from '../../model/model.ts'
import type { GuardedAssignment, GuardedPlan, GuardedUpdate } from '../../plan/guarded.ts'
import { conditionSql } from '../sql/condition.ts'
import type { Row } from '../sql/row.ts'
import { objectSql } from '../sql/select.ts'
import { changesSql, checksSql, eventSql, shownSql } from '../sql/write.ts'
import { type Sql, sql } from '../sql/writer.ts'
import type { ResultRow, SqlValue } from '../values.ts'
import { requireValues } from './assign.ts'
import { requireChecks, requireMatch } from './checks.ts'
import { documentOutputs, type MergedDocument, mergedDocuments, requireFit } from './documents.ts'
import type { ItemChange } from './event.ts'

/** Where the checks begin among the outputs of the stored row. */
const STORED_CHECKS = 2
/** Where things stand among those of the changed one. */
export const TEXT = 0
const EVENT = 1
const CHECKS = 2

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

/** The answer; the event; the checks. */
export function changedOutputs({ select, rows, collection, after }: GuardedUpdate, row: Row): Sql[] {
  return [shownSql(select, rows, row), eventSql(collection, row), ...checksSql(after, row)]
}

/** What an update comes to. */
export interface Decision {
  /** The assignments that change something. */
  readonly changed: readonly GuardedAssignment[]
  /** The fields that are set to what they hold. */
  readonly unchanged: ReadonlySet<Field>
}

/**
 * Throws what forbids the update, but for its references. `stored`: the outputs of the stored row; `values`: of
 * the assignments, of which those that merge documents are replaced by what they make.
 */
export function decide(
  { set, before, ifMatch }: GuardedUpdate,
  plan: GuardedPlan,
  stored: ResultRow | undefined,
  values: SqlValue[],
): Decision {
  if (stored === undefined || stored[0] !== 1) throw new ApiError('NOT_FOUND')
  const changesAt = STORED_CHECKS + before.length
  const documents = mergedDocuments(set, plan, stored, changesAt + set.length)
  for (const { index, text } of documents) values[index] = text
  const changes = changesOf(set, stored, changesAt, documents)
  const unchanged = new Set(set.filter((_, index) => !changes[index]).map(({ field }) => field))
  requireChecks(before, stored, STORED_CHECKS, unchanged)
  if (ifMatch !== undefined) requireMatch(plan.args[ifMatch], stored[1])
  requireValues(set, values, changes)
  requireFit(documents)
  return { changed: changedAssignments(set, changes), unchanged }
}

/** Whether each assignment changes something: by its column, or by the document that was merged. */
function changesOf(
  set: readonly GuardedAssignment[],
  stored: ResultRow,
  at: number,
  documents: readonly MergedDocument[],
): readonly boolean[] {
  const changes = set.map((_, index) => stored[at + index] === 1)
  for (const { index, changed } of documents) changes[index] = changed
  return changes
}

/** `updated_at` alone is no change, nor is what is withheld. */
function changedAssignments(
  set: readonly GuardedAssignment[],
  changes: readonly boolean[],
): readonly GuardedAssignment[] {
  const changed = set.filter(({ withheld }, index) => changes[index] && !withheld)
  return changed.every(({ field }) => field.name === 'updated_at') ? [] : changed
}

/** Throws FORBIDDEN unless the row may be as it became. */
export function requireAllowed({ after }: GuardedUpdate, became: ResultRow): void {
  requireChecks(after, became, CHECKS)
}

/** The event; none where all that changed is internal. */
export function eventOf(
  { collection }: GuardedUpdate,
  itemId: number,
  changed: readonly GuardedAssignment[],
  became: ResultRow,
): ItemChange | undefined {
  if (changed.every(({ field }) => field.internal)) return undefined
  const names = changed.filter(({ field }) => !field.internal && !field.writeOnly).map(one => one.field.name)
  const data = became[EVENT] ?? null
  return { collection: collection.name, itemId, kind: 'updated', data, changed: names }
}
