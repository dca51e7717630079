/** Creates: one INSERT that also returns the answer, the event and the checks, where SQLite allows it. */
import type { Condition, GuardedCreate, GuardedSelected, GuardedWrite } from '../../plan/guarded.ts'
import type { ResultRow, Statement } from '../connection.ts'
import { Row } from '../sql/row.ts'
import { sqlite } from '../sql/sqlite.ts'
import { checksSql, eventSql, insertSql, publicFields, returned, rowSql, shownSql } from '../sql/write.ts'
import { type Sql, slot } from '../sql/writer.ts'
import type { Inputs } from '../values.ts'
import { requireValues, valuesOf } from './assign.ts'
import { referenceRun, refused, requireChecks } from './checks.ts'
import { none, type WriteContext, type WriteRun } from './context.ts'
import { roomRun } from './room.ts'

const ID = 0
const TEXT = 1
const EVENT = 2

export function createRun(shape: GuardedCreate, context: WriteContext): WriteRun {
  const { connection, events, search } = context
  const { collection, set, after } = shape
  const fields = set.map(one => one.field)
  const requireReferences = referenceRun(shape.references, connection)
  const requireRoom = roomRun(shape, connection)
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
    requireRoom(values)
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

/** The id; the answer; the event, where it is another text; the checks. */
export function createdOutputs(shape: GuardedCreate, row: Row): Sql[] {
  const shown = shownSql(shape.select, shape.rows, row)
  const event = isEvent(shape) ? [] : [eventSql(shape.collection, row)]
  return [row.column('id'), shown, ...event, ...checksSql(shape.after, row)]
}

/** Whether the answer is the very text that the event log keeps. */
export function isEvent({ select, rows, collection }: GuardedCreate): boolean {
  const fields = publicFields(collection)
  return (
    rows.kind === 'always' &&
    select.length === fields.length &&
    select.every(
      (each, index) =>
        each.kind === 'field' &&
        each.key === fields[index]?.name &&
        each.field.field === fields[index] &&
        each.field.when.kind === 'always',
    )
  )
}

function lookAt(look: Statement, plan: GuardedWrite, id: number) {
  const inputs: Inputs = { args: plan.args, userId: plan.principal.userId, slots: [id] }
  return look.get(inputs) ?? []
}

/** Whether a selection is made of the row alone. */
export function isAlone(select: readonly GuardedSelected[]): boolean {
  return select.every(each => each.kind === 'constant' || (each.kind === 'field' && isOwn(each.field.when)))
}

/** Whether a condition speaks of the row alone. */
export function isOwn(condition: Condition): boolean {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return true
    case 'compare':
    case 'isNull':
    case 'nullness':
      return isOwn(condition.field.when)
    case 'related':
    case 'search':
      return false
    case 'and':
    case 'or':
      return condition.conditions.every(isOwn)
    case 'not':
      return isOwn(condition.condition)
  }
}
