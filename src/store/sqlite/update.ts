/** Updates: a look at the stored row and what it allows, then one UPDATE, then a look at what became of it. */
import type { GuardedUpdate } from '../../plan/guarded.ts'
import { Row } from '../sql/row.ts'
import { sqlite } from '../sql/sqlite.ts'
import { rowSql, updateSql } from '../sql/write.ts'
import { arg, sql } from '../sql/writer.ts'
import type { Inputs } from '../values.ts'
import { valuesOf } from '../write/assign.ts'
import { changedOutputs, decide, eventOf, requireAllowed, storedOutputs, TEXT } from '../write/update.ts'
import { none, textOf } from '../write/written.ts'
import type { WriteContext, WriteRun } from './context.ts'
import { referenceRun, refused } from './references.ts'

export function updateRun(shape: GuardedUpdate, context: WriteContext): WriteRun {
  const { connection, events, search } = context
  const { collection, set } = shape
  const id = arg(shape.id, 'number')
  const row = new Row(sqlite, collection.name)
  const requireReferences = referenceRun(shape.references, connection)
  const look = connection.prepare(rowSql(row, id, storedOutputs(shape, row)))
  const update =
    set.length === 0 ? undefined : connection.prepare(updateSql(collection, set, id, [sql`1`], sqlite))
  const result = connection.prepare(rowSql(row, id, changedOutputs(shape, row)))
  const touched = new Set([collection.name])
  const updated = (inputs: Inputs): void => {
    try {
      update?.get(inputs)
    } catch (cause) {
      throw refused(cause, set, inputs.slots, connection)
    }
  }
  return (plan, now) => {
    const slots = valuesOf(set, plan, now)
    const inputs = { args: plan.args, userId: plan.principal.userId, slots }
    const { changed, unchanged } = decide(shape, plan, look.get(inputs), slots)
    requireReferences(plan, unchanged)
    const itemId = Number(plan.args[shape.id])
    if (changed.length > 0) updated(inputs)
    if (changed.some(({ field }) => field.searchable)) search.write(collection, itemId, false)
    const became = result.get(inputs) ?? []
    requireAllowed(shape, became)
    const event = eventOf(shape, itemId, changed, became)
    if (event !== undefined) events.add(now, event)
    return {
      id: itemId,
      text: textOf(became[TEXT]),
      changed: changed.length > 0 ? touched : none,
      removed: none,
    }
  }
}
