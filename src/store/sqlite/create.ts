/** Creates: one INSERT that also returns the answer, the event and the checks, where SQLite allows it. */
import type { GuardedCreate, GuardedWrite } from '../../plan/guarded.ts'
import { Row } from '../sql/row.ts'
import { sqlite } from '../sql/sqlite.ts'
import { insertSql, returned, rowSql } from '../sql/write.ts'
import { slot } from '../sql/writer.ts'
import type { Inputs, ResultRow } from '../values.ts'
import { requireValues, valuesOf } from '../write/assign.ts'
import { requireChecks } from '../write/checks.ts'
import { createdOutputs, isAlone, isEvent, isOwn } from '../write/create.ts'
import { none } from '../write/written.ts'
import type { Statement } from './connection.ts'
import { referenceRun, refused } from './references.ts'
import type { WriteContext, WriteRun } from './writer.ts'

const ID = 0
const TEXT = 1
const EVENT = 2

export function createRun(shape: GuardedCreate, context: WriteContext): WriteRun {
  const { connection, events, search } = context
  const { collection, set, after } = shape
  const fields = set.map(one => one.field)
  const requireReferences = referenceRun(shape.references, connection)
  const own = returned(collection, sqlite)
  const shared = isEvent(shape)
  const checksAt = shared ? EVENT : EVENT + 1
  // What looks at other rows, or at this one's search words, is asked when all of it is written.
  const alone = isAlone(shape.select) && [shape.rows, ...after.map(each => each.condition)].every(isOwn)
  const insert = connection.prepare(
    insertSql(collection, fields, alone ? createdOutputs(shape, own) : [own.column('id')]),
  )
  const row = new Row(sqlite, collection.name)
  const look = alone ? undefined : connection.prepare(rowSql(row, slot(0), createdOutputs(shape, row)))
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
    const inputs = { args: plan.args, userId: plan.principal.userId, slots: values }
    const made = inserted(inputs)
    const id = Number(made[ID])
    search.write(collection, id, true)
    const result = look === undefined ? made : lookAt(look, plan, id)
    requireChecks(after, result, checksAt)
    const data = result[shared ? TEXT : EVENT] ?? null
    events.add({
      at: now,
      collection: collection.name,
      itemId: id,
      kind: 'created',
      data,
      changed: undefined,
    })
    const text = result[TEXT]
    return { id, text: typeof text === 'string' ? text : null, changed, removed: none }
  }
}

function lookAt(look: Statement, plan: GuardedWrite, id: number) {
  const inputs: Inputs = { args: plan.args, userId: plan.principal.userId, slots: [id] }
  return look.get(inputs) ?? []
}
