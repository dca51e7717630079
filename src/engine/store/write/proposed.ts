/**
 * The checks of a write on the item as it will be, before it is stored. Afterwards a rule about related items would find the
 * item among them, which would then vouch for itself, and the database would report a unique value that is taken to callers
 * who may not write the item.
 */
import type { Collection } from '../../../model/model.ts'
import { addCondition, always, never, noDependencies, translate } from '../../plan/condition.ts'
import type {
  Check,
  GuardedAssignment,
  GuardedCreate,
  GuardedUpdate,
  GuardedWrite,
} from '../../plan/guarded.ts'
import type { Condition } from '../../plan/guarded-conditions.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { checksSql, proposedSql } from '../sql/write.ts'
import type { Inputs, ResultRows } from '../values.ts'
import { requireChecks } from './checks.ts'
import type { WriteDatabase } from './database.ts'
import type { StepQuery } from './steps.ts'

type CheckedWrite = GuardedCreate | GuardedUpdate

export interface ProposedChecks<S> {
  query(inputs: Inputs): StepQuery<S>
  /** Throws FORBIDDEN if a check fails. `rows`: the answer to the query. */
  require(rows: ResultRows | undefined): void
}

/** Undefined if the checks may wait until the item is stored. */
export function proposedChecks<S>(
  shape: CheckedWrite,
  database: WriteDatabase<S>,
): ProposedChecks<S> | undefined {
  const { kind, collection, after } = shape
  const checks = kind === 'create' ? after.map(check => checkBeforeId(check, collection)) : after
  if (checks.length === 0 || !(setsUnique(shape) || dependsOnOthers(shape))) return undefined
  const row = new RowAlias(database.dialect, collection.name)
  const statement = database.prepare(proposedSql(shape, checksSql(checks, row), row))
  return {
    query: inputs => ({ statement, inputs }),
    require: rows => requireChecks(checks, rows?.[0] ?? [], 0, shape),
  }
}

/** The part of the check that can be decided before the new item has an id. */
export function checkBeforeId(check: Check, { name }: Collection): Check {
  return { ...check, condition: possibly(check.condition, name) }
}

/** The condition with comparisons of the row's own id decided so that it holds, if it may hold. */
function possibly(condition: Condition, collection: string): Condition {
  return translate(condition, (leaf, negated) => {
    if (!comparesId(leaf)) return leaf
    return negated || isCallersId(leaf, collection) ? never : always
  })
}

function comparesId(condition: Condition): boolean {
  switch (condition.kind) {
    case 'compare':
    case 'isNull':
    case 'nullness':
      return condition.field.field.name === 'id'
    case 'fields':
      return [condition.left, condition.right].some(
        ({ steps, field }) => steps.length === 0 && field.name === 'id',
      )
    default:
      return false
  }
}

/** Whether a row of `users` must be the caller's own, which a new one never is. */
function isCallersId(condition: Condition, collection: string): boolean {
  const isUserId = condition.kind === 'compare' && condition.operand.kind === 'userId'
  return isUserId && condition.operator === 'eq' && collection === 'users'
}

/** Whether the checks read other items of the collection: those that earlier writes of the transaction stored count, too. */
export function dependsOnOthers(shape: GuardedWrite['shape']): boolean {
  return shape.kind !== 'delete' && shape.after.some(check => readsOwnCollection(check, shape))
}

function setsUnique({ collection: { indexes }, set }: CheckedWrite): boolean {
  const isSet = (name: string) => set.some(({ field }: GuardedAssignment) => field.name === name)
  return (
    set.some(({ field }) => field.unique) ||
    indexes.some(({ unique, keys }) => unique && keys.some(({ field }) => isSet(field)))
  )
}

function readsOwnCollection({ condition }: Check, { collection }: CheckedWrite): boolean {
  return addCondition(condition, noDependencies()).collections.has(collection.name)
}
