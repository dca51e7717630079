/** Updates: locks the row, reads it with its checks, changes it, and reads the result. */
import { ApiError } from '../../../base/errors.ts'
import type { Field } from '../../../model/model.ts'
import type { GuardedAssignment, GuardedPlan, GuardedUpdate } from '../../plan/guarded.ts'
import { conditionSql } from '../sql/condition.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { changesSql, checksSql, representationSql, rowSql } from '../sql/write.ts'
import { arg, type Sql, sql } from '../sql/writer.ts'
import { encode, type ResultRow, type SqlValue } from '../values.ts'
import { assignedValues, requireValues } from './assign.ts'
import { CHECKS, realChanges, rowChangeOf, STATE, TEXT, updateStateSql } from './change.ts'
import { requireChecks, requireMatch } from './checks.ts'
import type { WriteDatabase } from './database.ts'
import { documentOutputs, mergedDocuments, requireFit } from './documents.ts'
import type { Author, ItemChange } from './event.ts'
import { filesOf } from './files.ts'
import { incrementedNumbers, incrementOutputs, requireInBounds } from './increments.ts'
import { lastAdministrator } from './last-administrator.ts'
import { limitsOn } from './limits.ts'
import { pendingDeletion } from './pending-deletion.ts'
import { readingCheckOf } from './reading-check.ts'
import { References } from './references.ts'
import { rowLock } from './row-lock.ts'
import { type RowState, stateAt } from './row-states.ts'
import { type WriteRun, writeInputs } from './steps.ts'
import { updateLogic } from './update-logic.ts'
import { answerText, none } from './written.ts'

export function updateRun<S>(shape: GuardedUpdate, database: WriteDatabase<S>): WriteRun<S> {
  const { collection, set } = shape
  const id = arg(shape.id)
  const row = new RowAlias(database.dialect, collection.name)
  const lock = rowLock(collection, id, 'change', database)
  const limits = limitsOn(collection, shape.limits, database)
  const logic = updateLogic(shape, database)
  const check = readingCheckOf(collection, database)
  const outputs = storedOutputs(shape, row, database)
  const item = (logic ?? check)?.stored(row)
  const groupsAt = outputs.length + (item === undefined ? 0 : 1)
  const administrator = lastAdministrator(
    collection,
    database,
    set.map(({ field }) => field.name),
  )
  const deletion = pendingDeletion(shape, database)
  const additional = [
    ...(item === undefined ? [] : [item]),
    ...(limits?.groups(row) ?? []),
    ...(administrator === undefined ? [] : [administrator.stateSql(row)]),
  ]
  const storedStatement = database.prepare(rowSql(row, id, [...outputs, ...additional]))
  const references = new References(shape.references, database)
  const changeRow = rowChangeOf(shape, database)
  const changedCollections = new Set([collection.name])
  const files = filesOf(collection, set, database)
  return function* update(given, scope) {
    const claimed = files && (yield* files.claim(given, Number(given.args[shape.id])))
    const plan = claimed?.plan ?? given
    const { args } = plan
    const values = logic?.valuesOf(plan, scope.at)
    const slots = values?.slots ?? assignedValues(set, plan, scope.at)
    const inputs = writeInputs(plan, scope, slots)
    // The order matters: the later statements see commits that happened during the wait for the lock.
    const [, storedRows, referenceRows] = yield [
      lock?.(inputs),
      { statement: storedStatement, inputs },
      references.query(inputs),
    ]
    const stored = storedRows?.[0]
    const effective = requireAllowed(shape, plan, stored, slots)
    references.require(referenceRows, effective.unchanged)
    const itemId = Number(args[shape.id])
    const prepared = values && logic?.prepare(values, effective.changed, stored?.[outputs.length])
    const changed = prepared?.changed ?? effective.changed
    const result = yield* (prepared?.change ?? changeRow)(
      itemId,
      changed,
      prepared ? { ...inputs, slots: prepared.slots } : inputs,
      scope,
    )
    requireChecks(shape.after, result, CHECKS, shape)
    if (claimed !== undefined)
      yield* files?.release(claimed, itemId, { changed, prepared: prepared?.fields }, scope) ?? []
    if (limits !== undefined && changed.length > 0)
      yield* limits.require(
        itemId,
        inputs,
        changed.map(({ field }) => field),
        stored?.slice(groupsAt),
      )
    if (check !== undefined && !changed.every(({ field }) => field.internal))
      yield* check.require(itemId, stored?.[outputs.length], plan.principal, scope)
    if (changed.length > 0) yield* administrator?.require(stored?.at(-1)) ?? []
    if (changed.length > 0) yield* deletion?.(itemId, plan.principal) ?? []
    const states = { before: stateAt(stored, BEFORE), after: stateAt(result, STATE) }
    const event = updateEventOf(shape, plan.principal, itemId, changed, states)
    if (event !== undefined) scope.log(event)
    return {
      id: itemId,
      text: answerText(result[TEXT]),
      changed: changed.length > 0 ? changedCollections : none,
      removed: none,
    }
  }
}

/** Positions among the outputs of the stored row. */
const BEFORE = 2
const STORED_CHECKS = 4
/** Visible; the representation; the state; the checks; whether each assignment changes something; the documents. */
function storedOutputs<S>(shape: GuardedUpdate, row: RowAlias, database: WriteDatabase<S>): Sql[] {
  const { rows, representation, before, set, ifMatch } = shape
  return [
    sql`(${conditionSql(rows, row)})`,
    ifMatch === undefined ? ['NULL'] : representationSql(representation, row),
    ...updateStateSql(shape, row, database),
    ...checksSql(before, row),
    ...set.map((assignment, index) => changesSql(assignment, index, row)),
    ...documentOutputs(set, row),
    ...incrementOutputs(set, row),
  ]
}

/** The changes of an update. */
interface EffectiveChanges {
  /** The assignments that change something. */
  readonly changed: readonly GuardedAssignment[]
  /** The fields that are set to the values that they already have. */
  readonly unchanged: ReadonlySet<Field>
}

/**
 * Throws if the update is not allowed; references are checked elsewhere. `stored`: the outputs of the stored row. `values`:
 * of the assignments; merged documents and incremented numbers replace what changes them.
 */
function requireAllowed(
  shape: GuardedUpdate,
  plan: GuardedPlan,
  stored: ResultRow | undefined,
  values: SqlValue[],
): EffectiveChanges {
  const { set, before, ifMatch } = shape
  if (stored === undefined || stored[0] !== 1) throw new ApiError('NOT_FOUND')
  const changesAt = STORED_CHECKS + before.length
  const documents = mergedDocuments(set, plan, stored, changesAt + set.length)
  for (const { index, text } of documents) values[index] = text
  const numbersAt = changesAt + set.length + 2 * set.filter(({ merges }) => merges).length
  const numbers = incrementedNumbers(set, plan, stored, numbersAt)
  for (const { index, field, value } of numbers) values[index] = encode(value, field.type.encoding)
  const changes = changesOf(set, stored, changesAt, [...documents, ...numbers])
  const unchanged = new Set(set.filter((_, index) => !changes[index]).map(({ field }) => field))
  requireChecks(before, stored, STORED_CHECKS, shape, unchanged)
  if (ifMatch !== undefined) requireMatch(plan.args[ifMatch], stored[1])
  requireInBounds(numbers)
  requireValues(set, values, changes)
  requireFit(documents)
  return { changed: changedAssignments(set, changes), unchanged }
}

/** Whether each assignment changes something: by its column, or by the value that was computed from the stored one. */
function changesOf(
  set: readonly GuardedAssignment[],
  stored: ResultRow,
  firstColumn: number,
  computed: readonly { readonly index: number; readonly changed: boolean }[],
): readonly boolean[] {
  const changes = set.map((_, index) => stored[firstColumn + index] === 1)
  for (const { index, changed } of computed) changes[index] = changed
  return changes
}

/** A withheld assignment changes nothing. */
function changedAssignments(
  set: readonly GuardedAssignment[],
  changes: readonly boolean[],
): readonly GuardedAssignment[] {
  return realChanges(set.filter(({ withheld }, index) => changes[index] && !withheld))
}

/** The event; undefined if only internal fields changed. */
export function updateEventOf(
  { collection, eventType: type }: GuardedUpdate,
  by: Author,
  itemId: number,
  changed: readonly GuardedAssignment[],
  { before, after }: { readonly before: RowState; readonly after: RowState },
): ItemChange | undefined {
  if (collection.unlogged || changed.every(({ field }) => field.internal)) return undefined
  const names = changed
    .filter(({ field }) => !field.internal && !field.writeOnly)
    .map(({ field }) => field.name)
  const change = {
    collection: collection.name,
    itemId,
    kind: 'updated',
    ...after,
    before: before.data,
    factsBefore: before.facts,
    changed: names,
    by,
  } as const
  return type === undefined ? change : { ...change, type }
}
