/** Deletes: locks the row, reads it with its checks, and removes it with everything that depends on it. */

import { ApiError } from '../../../base/errors.ts'
import { isPortico, type Principal } from '../../../base/principal.ts'
import type { ReferringField } from '../../../model/references.ts'
import type { GuardedDelete } from '../../plan/guarded.ts'
import { memoised } from '../memoised.ts'
import { conditionSql } from '../sql/condition.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { checksSql, representationSql, rowSql } from '../sql/write.ts'
import { arg, type Sql, slot, sql } from '../sql/writer.ts'
import { noSlots } from '../values.ts'
import { requireChecks, requireMatch } from './checks.ts'
import type { WriteDatabase } from './database.ts'
import { lastAdministrator, remainingAdministrator } from './last-administrator.ts'
import type { Removal } from './removal/removal.ts'
import { rowLock } from './row-lock.ts'
import { stateAt, stateSql } from './row-states.ts'
import { type WriteRun, writeInputs } from './steps.ts'

/** Positions among the outputs of the stored row. */
const REPRESENTATION = 1
const STATE = 2
const CHECKS = 4

export function deleteRun<S>(
  shape: GuardedDelete,
  database: WriteDatabase<S>,
  removal: Removal<S>,
): WriteRun<S> {
  const { collection, before, ifMatch } = shape
  const id = arg(shape.id)
  const row = new RowAlias(database.dialect, collection.name)
  const lock = rowLock(collection, id, 'remove', database)
  const administrator = lastAdministrator(collection, database)
  const remaining = remainingAdministrator(collection, database)
  const outputs = [
    ...storedOutputs(shape, row, database),
    ...(administrator === undefined ? [] : [administrator.stateSql(row)]),
  ]
  const storedStatement = database.prepare(rowSql(row, id, outputs))
  const permission = database.permission?.(collection)
  const knownStatement = memoised((reference: ReferringField) => ({
    statement: knownReferenceStatement(reference, shape, database),
  }))
  return function* remove(plan, scope) {
    const { args, principal } = plan
    const inputs = writeInputs(plan, scope, noSlots)
    const itemId = Number(args[shape.id])
    const [, storedRows, permissionRows, administrators] = yield [
      lock?.(inputs),
      { statement: storedStatement, inputs },
      // Before any row is deleted: the rule may read rows that are deleted with this one.
      permission && { statement: permission, inputs: { ...inputs, slots: [itemId] } },
      remaining?.before,
    ]
    const stored = storedRows?.[0]
    if (stored === undefined || stored[0] !== 1) throw new ApiError('NOT_FOUND')
    requireChecks(before, stored, CHECKS, shape)
    if (ifMatch !== undefined) requireMatch(args[ifMatch], stored[REPRESENTATION])
    if (permission !== undefined && permissionRows?.length === 0) throw new ApiError('FORBIDDEN')
    const {
      changed,
      removed,
      cascaded = 0,
    } = yield* removal.remove(
      { collection, id: itemId },
      stateAt(stored, STATE),
      principal,
      scope,
      shape.maxItems,
      (reference, referringId) => {
        const { statement } = knownStatement(reference)
        return statement && { statement, inputs: { ...inputs, slots: [referringId] } }
      },
    )
    if (!isSystemDeletion(principal)) {
      yield* administrator?.require(stored.at(-1)) ?? []
      if (removed.has('users')) yield* remaining?.require(administrators) ?? []
    }
    return { id: itemId, text: null, changed, removed, cascaded }
  }
}

/** Whether Portico itself deletes the item, on behalf of neither a user nor the product's own logic. */
function isSystemDeletion(principal: Principal): boolean {
  return isPortico(principal) && principal.userId === null
}

/** Returns whether the caller may know which item the field of a row refers to; undefined if it may not of any row. */
function knownReferenceStatement<S>(
  { collection, field }: ReferringField,
  { blockers }: GuardedDelete,
  { dialect, prepare }: WriteDatabase<S>,
): S | undefined {
  const known = blockers.get(field)
  if (known === undefined) return undefined
  const row = new RowAlias(dialect, collection.name)
  return prepare(rowSql(row, slot(0), [sql`(${conditionSql(known, row)})`]))
}

/** Visible; the representation; the state for the event; the checks. */
function storedOutputs<S>(shape: GuardedDelete, row: RowAlias, { model }: WriteDatabase<S>): Sql[] {
  const { collection, before, ifMatch, rows, representation } = shape
  const visible = sql`(${conditionSql(rows, row)})`
  const representationText: Sql = ifMatch === undefined ? ['NULL'] : representationSql(representation, row)
  return [visible, representationText, ...stateSql(collection, model, row), ...checksSql(before, row)]
}
