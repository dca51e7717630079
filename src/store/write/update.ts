/** Updates: the row is locked, then looked at with what it allows, then changed, then looked at again. */
import { ApiError } from '../../errors.ts'
import type { Field } from '../../model/model.ts'
import type { GuardedAssignment, GuardedPlan, GuardedUpdate } from '../../plan/guarded.ts'
import { conditionSql } from '../sql/condition.ts'
import { Row } from '../sql/row.ts'
import { objectSql } from '../sql/select.ts'
import { changesSql, checksSql, eventSql, rowSql, shownSql, updateSql } from '../sql/write.ts'
import { arg, name, type Sql, sql } from '../sql/writer.ts'
import type { Inputs, ResultRow, SqlValue } from '../values.ts'
import { requireValues, valuesOf } from './assign.ts'
import { requireChecks, requireMatch } from './checks.ts'
import type { WriteDatabase } from './database.ts'
import { documentOutputs, type MergedDocument, mergedDocuments, requireFit } from './documents.ts'
import type { Author, ItemChange } from './event.ts'
import { References } from './references.ts'
import { rowLock } from './row-lock.ts'
import { type Ask, type Rows, type Steps, type WriteRun, type WriteScope, writeInputs } from './steps.ts'
import { none, textOf } from './written.ts'

export function updateRun<S>(shape: GuardedUpdate, database: WriteDatabase<S>): WriteRun<S> {
  const { collection, set } = shape
  const id = arg(shape.id)
  const row = new Row(database.dialect, collection.name)
  const lock = rowLock(collection, id, 'change', database)
  const look = database.prepare(rowSql(row, id, storedOutputs(shape, row)))
  const references = new References(shape.references, database)
  const change = changer(shape, database)
  const touched = new Set([collection.name])
  return function* update(plan, scope) {
    const { args } = plan
    const slots = valuesOf(set, plan, scope.at)
    const inputs = writeInputs(plan, scope, slots)
    // In this order: each statement sees what was committed while the lock was waited for.
    const [, stored, found] = yield [lock?.(inputs), { statement: look, inputs }, references.ask(inputs)]
    const { changed, unchanged } = decide(shape, plan, stored?.[0], slots)
    references.require(found, unchanged)
    const itemId = Number(args[shape.id])
    const became = yield* change(itemId, changed, inputs, scope)
    requireAllowed(shape, became)
    const event = eventOf(shape, plan.principal, itemId, changed, [stored?.[0]?.[BEFORE], became[EVENT]])
    if (event !== undefined) scope.log(event)
    return {
      id: itemId,
      text: textOf(became[TEXT]),
      changed: changed.length > 0 ? touched : none,
      removed: none,
    }
  }
}

type Change<S> = (
  id: number,
  changed: readonly GuardedAssignment[],
  inputs: Inputs & { readonly slots: readonly SqlValue[] },
  scope: WriteScope<S>,
) => Steps<S, ResultRow>

/** Changes the row and looks at what became of it: in one round trip, unless its search terms are stored between. */
function changer<S>(shape: GuardedUpdate, database: WriteDatabase<S>): Change<S> {
  const { collection, set } = shape
  const id = arg(shape.id)
  const row = new Row(database.dialect, collection.name)
  const look = database.look({ row, id, outputs: changedOutputs(shape, row), shown: TEXT })
  const index = set.some(({ field }) => field.searchable) ? database.searchIndex(collection) : undefined
  const returned = index === undefined ? [sql`1`] : collection.searchable.map(field => name(field.name))
  const statement =
    set.length === 0
      ? undefined
      : database.prepare(updateSql(collection, set, id, returned, database.dialect))
  return function* change(itemId, changed, inputs, scope) {
    if (statement === undefined || changed.length === 0) return look.row(yield look.asks(inputs))
    const update: Ask<S> = { statement, inputs, purpose: 'change' }
    const isIndexed = index !== undefined && changed.some(({ field }) => field.searchable)
    let answers: readonly Rows[]
    try {
      answers = yield isIndexed ? [update] : [update, ...look.asks(inputs)]
    } catch (cause) {
      throw database.refused(cause, set, inputs.slots)
    }
    const [updated = [], ...looked] = answers
    // The row is there, so the database itself withholds it.
    if (updated[0] === undefined) throw new ApiError('FORBIDDEN')
    if (!isIndexed) return look.row(looked)
    index.write(itemId, updated[0], false, scope)
    return look.row(yield look.asks(inputs))
  }
}

/** Where things stand among the outputs of the stored row. */
const BEFORE = 2
const STORED_CHECKS = 3
/** Where things stand among those of the changed one. */
const TEXT = 0
const EVENT = 1
const CHECKS = 2

/** Visible; the representation; the event's text; the checks; whether each assignment changes something; the documents. */
function storedOutputs(shape: GuardedUpdate, row: Row): Sql[] {
  const { collection, rows, representation, before, set, ifMatch } = shape
  return [
    sql`(${conditionSql(rows, row)})`,
    ifMatch === undefined ? ['NULL'] : row.dialect.text(objectSql(representation, row)),
    isLogged(shape) ? eventSql(collection, row) : ['NULL'],
    ...checksSql(before, row),
    ...set.map((one, index) => changesSql(one, index, row)),
    ...documentOutputs(set, row),
  ]
}

/** The answer; the event; the checks. */
function changedOutputs(shape: GuardedUpdate, row: Row): Sql[] {
  const { select, rows, collection, after } = shape
  const event: Sql = isLogged(shape) ? eventSql(collection, row) : ['NULL']
  return [shownSql(select, rows, row), event, ...checksSql(after, row)]
}

/** Whether an update may leave an event. */
function isLogged({ collection, set }: GuardedUpdate): boolean {
  return !collection.unlogged && set.some(({ field }) => !field.internal)
}

/** What an update comes to. */
interface Decision {
  /** The assignments that change something. */
  readonly changed: readonly GuardedAssignment[]
  /** The fields that are set to what they hold. */
  readonly unchanged: ReadonlySet<Field>
}

/**
 * Throws what forbids the update, but for its references. `stored`: the outputs of the stored row; `values`: of
 * the assignments, of which those that merge documents are replaced by what they make.
 */
function decide(
  { set, before, ifMatch }: GuardedUpdate,
  plan: GuardedPlan,
  stored: ResultRow | undefined,
  values: SqlValue[],
): Decision {
  if (stored === undefined || stored[0] !== 1) throw new ApiError('NOT_FOUND')
  const changesAt = STORED_CHECKS + before.length
  const documents = mergedDocuments(set, plan, stored, changesAt + set.length)
  for (const { index, text } of documents) values[index] = text
  const changes = changesOf(set, stored, changesAt, documents)
  const unchanged = new Set(set.filter((_, index) => !changes[index]).map(({ field }) => field))
  requireChecks(before, stored, STORED_CHECKS, unchanged)
  if (ifMatch !== undefined) requireMatch(plan.args[ifMatch], stored[1])
  requireValues(set, values, changes)
  requireFit(documents)
  return { changed: changedAssignments(set, changes), unchanged }
}

/** Whether each assignment changes something: by its column, or by the document that was merged. */
function changesOf(
  set: readonly GuardedAssignment[],
  stored: ResultRow,
  at: number,
  documents: readonly MergedDocument[],
): readonly boolean[] {
  const changes = set.map((_, index) => stored[at + index] === 1)
  for (const { index, changed } of documents) changes[index] = changed
  return changes
}

/** `updated_at` alone is no change, nor is what is withheld. */
function changedAssignments(
  set: readonly GuardedAssignment[],
  changes: readonly boolean[],
): readonly GuardedAssignment[] {
  const changed = set.filter(({ withheld }, index) => changes[index] && !withheld)
  return changed.every(({ field }) => field.name === 'updated_at') ? [] : changed
}

/** Throws FORBIDDEN unless the row may be as it became. */
function requireAllowed({ after }: GuardedUpdate, became: ResultRow): void {
  requireChecks(after, became, CHECKS)
}

/** The event, with the texts of the row before and after; none where all that changed is internal. */
export function eventOf(
  { collection, eventType: type }: GuardedUpdate,
  by: Author,
  itemId: number,
  changed: readonly GuardedAssignment[],
  [before = null, data = null]: readonly (SqlValue | undefined)[],
): ItemChange | undefined {
  if (collection.unlogged || changed.every(({ field }) => field.internal)) return undefined
  const names = changed.filter(({ field }) => !field.internal && !field.writeOnly).map(one => one.field.name)
  const change = {
    collection: collection.name,
    itemId,
    kind: 'updated',
    data,
    before,
    changed: names,
    by,
  } as const
  return type === undefined ? change : { ...change, type }
}
