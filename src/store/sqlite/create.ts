/** Creates: one INSERT that also returns the answer, the event and the checks, where SQLite allows it. */
import type { GuardedCreate, GuardedWrite } from '../../plan/guarded.ts'
import { Row } from '../sql/row.ts'
import { sqlite } from '../sql/sqlite.ts'
import { insertSql, returned, rowSql } from '../sql/write.ts'
import { slot } from '../sql/writer.ts'
import type { Inputs, ResultRow } from '../values.ts'
import { requireValues, valuesOf } from '../write/assign.ts'
import { requireChecks } from '../write/checks.ts'
import { createdOutputs, ID, isToldAtOnce, placesOf, TEXT } from '../write/create.ts'
import { none, textOf } from '../write/written.ts'
import type { Statement } from './connection.ts'
import type { WriteContext, WriteRun } from './context.ts'
import { referenceRun, refused } from './references.ts'
import { roomRun } from './room.ts'

export function createRun(shape: GuardedCreate, context: WriteContext): WriteRun {
  const { connection, events, search } = context
  const { collection, set, after } = shape
  const fields = set.map(one => one.field)
  const requireReferences = referenceRun(shape.references, connection)
  const requireRoom = roomRun(shape, connection)
  const own = returned(collection, sqlite)
  const places = placesOf(shape)
  const atOnce = isToldAtOnce(shape)
  const insert = connection.prepare(
    insertSql(collection, fields, atOnce ? createdOutputs(shape, own) : [own.column('id')]),
  )
  const row = new Row(sqlite, collection.name)
  const look = atOnce ? undefined : connection.prepare(rowSql(row, slot(0), createdOutputs(shape, row)))
  const changed = new Set([collection.name])
  const inserted = (inputs: Inputs): ResultRow => {
    try {
      return insert.get(inputs) ?? []
    } catch (cause) {
      throw refused(cause, set, inputs.slots, connection)
    }
  }
  return (plan, now) => {
    const values = valuesOf(set, plan, now)
    requireValues(set, values)
    requireReferences(plan)
    requireRoom(values)
    const inputs = { args: plan.args, userId: plan.principal.userId, slots: values }
    const made = inserted(inputs)
    const id = Number(made[ID])
    search.write(collection, id, true)
    const result = look === undefined ? made : lookAt(look, plan, id)
    requireChecks(after, result, places.checks)
    const data = result[places.event] ?? null
    events.add(now, { collection: collection.name, itemId: id, kind: 'created', data, changed: undefined })
    return { id, text: textOf(result[TEXT]), changed, removed: none }
  }
}

function lookAt(look: Statement, plan: GuardedWrite, id: number) {
  const inputs: Inputs = { args: plan.args, userId: plan.principal.userId, slots: [id] }
  return look.get(inputs) ?? []
}
