/** Updates: a look at the stored row and what it allows, then one UPDATE, then a look at what became of it. */
import { ApiError } from '../../errors.ts'
import type { GuardedUpdate } from '../../plan/guarded.ts'
import { Row } from '../sql/row.ts'
import { sqlite } from '../sql/sqlite.ts'
import { publicFields, rowSql, updateSql } from '../sql/write.ts'
import { arg, sql } from '../sql/writer.ts'
import type { Inputs } from '../values.ts'
import { requireValues, valuesOf } from '../write/assign.ts'
import { requireChecks, requireMatch } from '../write/checks.ts'
import { mergedDocuments, requireFit } from '../write/documents.ts'
import {
  CHECKS,
  changedFields,
  changedOutputs,
  changesOf,
  EVENT,
  fieldsOf,
  STORED_CHECKS,
  storedOutputs,
  TEXT,
} from '../write/update.ts'
import { none } from '../write/written.ts'
import { referenceRun, refused } from './references.ts'
import type { WriteContext, WriteRun } from './writer.ts'

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
