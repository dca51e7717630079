/** Updates: a look at the stored row and what it allows, then one UPDATE, then a look at what became of it. */
import { ApiError } from '../../errors.ts'
import type { Field } from '../../model/model.ts'
import type { GuardedAssignment, GuardedUpdate } from '../../plan/guarded.ts'
import type { ResultRow } from '../connection.ts'
import { conditionSql } from '../sql/condition.ts'
import { Row } from '../sql/row.ts'
import { objectSql } from '../sql/select.ts'
import { sqlite } from '../sql/sqlite.ts'
import { changesSql, checksSql, eventSql, publicFields, rowSql, shownSql, updateSql } from '../sql/write.ts'
import { arg, type Sql, sql } from '../sql/writer.ts'
import type { Inputs } from '../values.ts'
import { requireValues, valuesOf } from './assign.ts'
import { referenceRun, refused, requireChecks, requireMatch } from './checks.ts'
import { none, type WriteContext, type WriteRun } from './context.ts'
import { documentOutputs, type MergedDocument, mergedDocuments, requireFit } from './documents.ts'

/** Where the checks begin among the outputs of the stored row. */
export const STORED_CHECKS = 2
/** Among those of the changed one. */
export const TEXT = 0
export const EVENT = 1
export const CHECKS = 2

export function updateRun(shape: GuardedUpdate, context: WriteContext): WriteRun {
  const { connection, events, search } = context
  const { collection, set, before, after, ifMatch } = shape
  const id = arg(shape.id, 'number')
  const row = new Row(sqlite, collection.name)
  const requireReferences = referenceRun(shape.references, connection)
  const look = connection.prepare(rowSql(row, id, storedOutputs(shape, row)))
  const update =
    set.length === 0 ? undefined : connection.prepare(updateSql(collection, set, id, [sql`1`], sqlite))
  const result = connection.prepare(rowSql(row, id, changedOutputs(shape, row)))
  const shownNames = new Set(publicFields(collection).map(field => field.name))
  const touched = new Set([collection.name])
  const updated = (inputs: Inputs): void => {
    try {
      update?.get(inputs)
    } catch (cause) {
      throw refused(cause, set, inputs.slots, connection)
    }
  }
  return (plan, now) => {
    const inputs = { args: plan.args, userId: plan.principal.userId, slots: valuesOf(set, plan, now) }
    const stored = look.get(inputs)
    if (stored === undefined || stored[0] !== 1) throw new ApiError('NOT_FOUND')
    const documents = mergedDocuments(set, plan, stored, STORED_CHECKS + before.length + set.length)
    for (const { index, text } of documents) inputs.slots[index] = text
    const changes = changesOf(set, stored, STORED_CHECKS + before.length, documents)
    const unchanged = new Set(fieldsOf(set.filter((_, index) => !changes[index])))
    requireChecks(before, stored, STORED_CHECKS, unchanged)
    if (ifMatch !== undefined) requireMatch(plan.args[ifMatch], stored[1])
    requireValues(set, inputs.slots, changes)
    requireFit(documents)
    requireReferences(plan, unchanged)
    const changed = changedFields(set, changes)
    if (changed.length > 0) updated(inputs)
    if (changed.some(({ field }) => field.searchable))
      search.write(collection, Number(plan.args[shape.id]), false)
    const became = result.get(inputs) ?? []
    requireChecks(after, became, CHECKS)
    const itemId = Number(plan.args[shape.id])
    if (changed.some(({ field }) => !field.internal)) {
      const names = changed.map(({ field }) => field.name).filter(name => shownNames.has(name))
      const data = became[EVENT] ?? null
      events.add({ at: now, collection: collection.name, itemId, kind: 'updated', data, changed: names })
    }
    const text = became[TEXT]
    return {
      id: itemId,
      text: typeof text === 'string' ? text : null,
      changed: changed.length > 0 ? touched : none,
      removed: none,
    }
  }
}

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
