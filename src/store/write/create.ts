/** What creates ask for on every database. */
import type { Condition, GuardedCreate, GuardedSelected } from '../../plan/guarded.ts'
import type { Row } from '../sql/row.ts'
import { checksSql, eventSql, publicFields, shownSql } from '../sql/write.ts'
import type { Sql } from '../sql/writer.ts'

/** Where things stand among the outputs. */
export const ID = 0
export const TEXT = 1

export interface Places {
  readonly event: number
  readonly checks: number
}

export function placesOf(shape: GuardedCreate): Places {
  return isEvent(shape) ? { event: TEXT, checks: TEXT + 1 } : { event: TEXT + 1, checks: TEXT + 2 }
}

/** Whether the outputs are made of the row alone: what looks at others, or at its search words, is asked when all is written. */
export function isToldAtOnce({ select, rows, after }: GuardedCreate): boolean {
  return isAlone(select) && isOwn(rows) && after.every(({ condition }) => isOwn(condition))
}

/** The id; the answer; the event, where it is another text; the checks. */
export function createdOutputs(shape: GuardedCreate, row: Row): Sql[] {
  const shown = shownSql(shape.select, shape.rows, row)
  const event = isEvent(shape) ? [] : [eventSql(shape.collection, row)]
  return [row.column('id'), shown, ...event, ...checksSql(shape.after, row)]
}

/** Whether the answer is the very text that the event log keeps. */
function isEvent({ select, rows, collection }: GuardedCreate): boolean {
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

/** Whether a selection is made of the row alone. */
function isAlone(select: readonly GuardedSelected[]): boolean {
  return select.every(each => each.kind === 'constant' || (each.kind === 'field' && isOwn(each.field.when)))
}

/** Whether a condition speaks of the row alone. */
function isOwn(condition: Condition): boolean {
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
