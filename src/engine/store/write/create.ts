/** Creates: checks the references, inserts the row, and reads the result. */

import { ApiError } from '../../../base/errors.ts'
import { leavesOf } from '../../../base/predicate.ts'
import type { GuardedAssignment, GuardedCreate, GuardedPlan, GuardedSelected } from '../../plan/guarded.ts'
import type { Condition, ConditionLeaf } from '../../plan/guarded-conditions.ts'
import { factsSql } from '../sql/condition.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { answerSql, checksSql, eventSql, publicFields, returningRow } from '../sql/write.ts'
import { type Sql, slot } from '../sql/writer.ts'
import { encode, type Inputs, type ResultRow, type SqlValue } from '../values.ts'
import { assignedValues, jsonOf, requireValues } from './assign.ts'
import { requireChecks } from './checks.ts'
import type { WriteDatabase } from './database.ts'
import type { Author, ItemChange } from './event.ts'
import { filesOf } from './files.ts'
import { limitsOn } from './limits.ts'
import { type WriteLogic, writeLogicOf } from './logic.ts'
import { proposedChecks } from './proposed.ts'
import { readingCheckOf } from './reading-check.ts'
import { References } from './references.ts'
import { loggedFacts, type RowState } from './row-states.ts'
import { type QuerySteps, type WriteRun, type WriteScope, writeInputs } from './steps.ts'
import { answerText, none } from './written.ts'

export function createRun<S>(shape: GuardedCreate, database: WriteDatabase<S>): WriteRun<S> {
  const { collection, set, after } = shape
  const { searchable, name } = collection
  const positions = outputPositions(shape)
  const isReturned = isReturnable(shape) && loggedFacts(collection, database.model).length === 0
  const insert = inserter(shape, database, isReturned)
  const row = new RowAlias(database.dialect, name)
  const readBack = isReturned
    ? undefined
    : database.readBack({
        row,
        id: slot(0),
        outputs: createdOutputs(shape, row, database),
        answerIndex: TEXT,
      })
  const index = database.searchIndex(collection)
  const searchablePositions = searchable.map(field => set.findIndex(assignment => assignment.field === field))
  const changedCollections = new Set([name])
  const slotsOf = slotsMaker(shape, database)
  const limits = limitsOn(collection, shape.limits, database)
  const check = readingCheckOf(collection, database)
  const files = filesOf(collection, set, database)
  const fieldsSet = set.map(({ field }) => field)
  return function* create(given, scope) {
    const claimed = files && (yield* files.claim(given, null))
    const plan = claimed?.plan ?? given
    const slots = slotsOf(plan, scope.at)
    const inputs = writeInputs(plan, scope, slots)
    const insertedRow = yield* insert(inputs, scope)
    const id = Number(insertedRow[ID])
    if (claimed !== undefined && claimed.keys.size > 0) {
      const removed = [...claimed.keys.keys()].filter(field => slots[fieldsSet.indexOf(field)] === null)
      yield* files?.place(claimed, id, removed, scope) ?? []
    }
    index?.write(
      id,
      searchablePositions.map(position => slots[position]),
      true,
      scope,
    )
    const result =
      readBack === undefined ? insertedRow : readBack.row(yield readBack.queries({ ...inputs, slots: [id] }))
    requireChecks(after, result, positions.checks, shape)
    const data = result[positions.event] ?? null
    // Row security hides the row.
    if (data === null) throw new ApiError('FORBIDDEN')
    if (limits !== undefined) yield* limits.require(id, inputs)
    if (check !== undefined) yield* check.require(id, undefined, plan.principal, scope)
    const facts = result[positions.facts] ?? null
    if (!collection.unlogged) scope.log(createdEvent(name, id, { data, facts }, plan.principal))
    scope.count(name, 1)
    return { id, text: answerText(result[TEXT]), changed: changedCollections, removed: none }
  }
}

/** Returns the values to insert, in the order of `set`. Throws if they may not be stored. */
type SlotsOf = (plan: GuardedPlan, now: string) => readonly SqlValue[]

function slotsMaker<S>({ collection, set }: GuardedCreate, { watchdog }: WriteDatabase<S>): SlotsOf {
  const logic = writeLogicOf(collection, watchdog)
  if (logic !== undefined) return (plan, now) => preparedSlots(set, logic, plan, now)
  return (plan, now) => {
    const slots = assignedValues(set, plan, now)
    requireValues(set, slots)
    return slots
  }
}

function preparedSlots(
  set: readonly GuardedAssignment[],
  logic: WriteLogic,
  plan: GuardedPlan,
  now: string,
): readonly SqlValue[] {
  const values = set.map(assignment => jsonOf(assignment, plan, now))
  // `prepare` may set required fields that clients cannot set.
  const isClientWritable = set.map(({ field }) => !field.readOnly)
  requireValues(set, values, isClientWritable)
  const entries = set.flatMap(({ field }, index) =>
    field.internal || field.name === 'id' ? [] : [[field.name, values[index] ?? null] as const],
  )
  const next = Object.fromEntries(entries)
  const prepared = logic.run({ next, previous: undefined, principal: plan.principal, now })
  const storedValues = set.map(
    ({ field }, index) => (prepared.has(field) ? prepared.get(field) : values[index]) ?? null,
  )
  requireValues(set, storedValues)
  return set.map(({ field }, index) => encode(storedValues[index], field.type.encoding))
}

function createdEvent(collection: string, itemId: number, state: RowState, by: Author): ItemChange {
  return {
    collection,
    itemId,
    kind: 'created',
    ...state,
    before: null,
    factsBefore: null,
    changed: undefined,
    by,
  }
}

type Insert<S> = (inputs: Inputs, scope: WriteScope<S>) => QuerySteps<S, ResultRow>

/** Inserts the row if the rows that it refers to exist. */
function inserter<S>(shape: GuardedCreate, database: WriteDatabase<S>, isReturned: boolean): Insert<S> {
  const { collection, set } = shape
  const insertedRow = returningRow(collection, database.dialect)
  const outputs = isReturned ? createdOutputs(shape, insertedRow, database) : [insertedRow.column('id')]
  const references = new References(shape.references, database)
  const { statement, checksReferences } = database.insertion(shape, references, outputs)
  const proposed = proposedChecks(shape, database)
  const checksFirst = proposed !== undefined || (!checksReferences && references.checks.length > 0)
  return function* insert(inputs, scope) {
    if (checksFirst) {
      const [referenced, proposedRows] = yield [references.query(inputs), proposed?.query(inputs)]
      references.require(referenced)
      proposed?.require(proposedRows)
    }
    let rows: readonly ResultRow[] | undefined
    const { hasChanged } = scope
    try {
      ;[rows] = yield [{ statement, inputs, purpose: 'change' }]
    } catch (cause) {
      throw database.changeError(cause, set, inputs.slots)
    }
    if (rows?.[0] !== undefined) return rows[0]
    scope.hasChanged = hasChanged
    return yield* references.fail(inputs)
  }
}

/** Positions among the outputs. */
const ID = 0
export const TEXT = 1

export interface OutputPositions {
  readonly event: number
  readonly checks: number
  readonly facts: number
}

export function outputPositions(shape: GuardedCreate): OutputPositions {
  const event = hasEventText(shape) ? TEXT : TEXT + 1
  const checks = event + 1
  return { event, checks, facts: checks + shape.after.length }
}

/** Whether RETURNING can supply the outputs: outputs that need other rows, or search terms, are read after all writes. */
export function isReturnable({ select, rows, after }: GuardedCreate): boolean {
  return (
    isLocalSelection(select) &&
    isLocalCondition(rows) &&
    after.every(({ condition }) => isLocalCondition(condition))
  )
}

/** The id; the answer; the event, if its text is not that of the answer; the checks; the facts, if there are any. */
function createdOutputs<S>(shape: GuardedCreate, row: RowAlias, { model }: WriteDatabase<S>): Sql[] {
  const { collection, after } = shape
  const answer = answerSql(shape.select, shape.rows, row)
  const event = hasEventText(shape) ? [] : [eventSql(collection, row)]
  const facts = loggedFacts(collection, model)
  return [
    ...[row.column('id'), answer, ...event],
    ...checksSql(after, row),
    ...(facts.length === 0 ? [] : [factsSql(facts, row)]),
  ]
}

/** Whether the answer has the same text as the event. */
function hasEventText({ select, rows, collection }: GuardedCreate): boolean {
  const fields = publicFields(collection)
  return (
    rows.kind === 'always' &&
    select.length === fields.length &&
    select.every(
      (selected, index) =>
        selected.kind === 'field' &&
        selected.key === fields[index]?.name &&
        selected.field.field === fields[index] &&
        selected.field.field.type.file === undefined &&
        selected.field.when.kind === 'always',
    )
  )
}

/** Whether a selection needs no other rows. */
function isLocalSelection(select: readonly GuardedSelected[]): boolean {
  return select.every(
    selected =>
      selected.kind === 'constant' ||
      (selected.kind === 'field' &&
        selected.field.computation === undefined &&
        isLocalCondition(selected.field.when)),
  )
}

/** Whether a condition needs no other rows. */
function isLocalCondition(condition: Condition): boolean {
  return leavesOf(condition).every(isLocalLeaf)
}

function isLocalLeaf(condition: ConditionLeaf): boolean {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return true
    case 'compare':
      return condition.operand.kind !== 'caller' && isLocalCondition(condition.field.when)
    case 'fields':
      return condition.left.steps.length + condition.right.steps.length === 0
    case 'isNull':
    case 'nullness':
      return isLocalCondition(condition.field.when)
    case 'related':
    case 'values':
    case 'search':
    case 'fact':
      return false
  }
}
