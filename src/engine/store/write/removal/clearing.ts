/**
 * References that a deletion clears in collections with code or limits of their own: row by row, since each change goes
 * through `prepare`, `check` and the limits like any other.
 */
import { ApiError } from '../../../../base/errors.ts'
import type { Principal } from '../../../../base/principal.ts'
import type { JsonValue } from '../../../../model/fields/type.ts'
import type { Collection, Field } from '../../../../model/model.ts'
import type { ReferringField } from '../../../../model/references.ts'
import type { GuardedAssignment } from '../../../plan/guarded.ts'
import { affectsLimit, limitsOfUpdates } from '../../../plan/limits.ts'
import { RowAlias } from '../../sql/row-alias.ts'
import { eventSql, logicItemSql, returningRow, rowSql, updateSql } from '../../sql/write.ts'
import { name, type Sql, slot } from '../../sql/writer.ts'
import { encode, noInputs, type SqlValue, slotInputs } from '../../values.ts'
import { assignedBySlot } from '../assign.ts'
import type { WriteDatabase } from '../database.ts'
import type { Author, ItemChange } from '../event.ts'
import { limitsOn } from '../limits.ts'
import { type PreparedValues, type WriteLogic, writeLogicOf } from '../logic.ts'
import { readingCheckOf } from '../reading-check.ts'
import type { QuerySteps, WriteScope } from '../steps.ts'
import type { CascadeItem, ClearedRow } from './cascade-set.ts'

type Clearing<S> = (id: number, by: Principal, scope: WriteScope<S>) => QuerySteps<S, ClearedRow<S>>

/** Positions among the outputs of the stored row. */
const ITEM = 0
const EVENT = 1
const GROUPS = 2

/** Undefined for a collection without code and limits: only the reference changes. */
export function checkedClearing<S>(
  reference: ReferringField,
  database: WriteDatabase<S>,
): Clearing<S> | undefined {
  const { collection, field } = reference
  const logic = writeLogicOf(collection, database.watchdog)
  const affectedLimits = limitsOfUpdates(database.model, collection).filter(limit => {
    return collection.prepare !== undefined || affectsLimit(limit, [{ field }])
  })
  const check = readingCheckOf(collection, database)
  if (logic === undefined && check === undefined && affectedLimits.length === 0) return undefined
  const limits = limitsOn(collection, affectedLimits, database)
  const row = new RowAlias(database.dialect, collection.name)
  const storedStatement = database.prepare(
    rowSql(row, slot(0), [
      logicItemSql(collection, row),
      eventSql(collection, row),
      ...(limits?.groups(row) ?? []),
    ]),
  )
  const change = clearRowOf(collection, database)
  return function* clear(id, by, scope) {
    const [rows] = yield [{ statement: storedStatement, inputs: slotInputs([id]) }]
    const stored = rows?.[0] ?? []
    const values = clearedValues(reference, logic, String(stored[ITEM]), by, scope.at)
    const data = yield* change(id, values, scope)
    const changedNames = [...values.keys()]
      .filter(field => !field.internal && !field.writeOnly)
      .map(({ name }) => name)
    const texts = { before: stored[EVENT] ?? null, data }
    function* verify() {
      if (limits !== undefined) yield* limits.require(id, noInputs, [...values.keys()], stored.slice(GROUPS))
      try {
        if (check !== undefined) yield* check.require(id, stored[ITEM], by, scope)
      } catch (cause) {
        throw withoutFaults(reference, cause)
      }
    }
    return {
      change: collection.unlogged ? undefined : clearedChange({ collection, id }, changedNames, texts, by),
      verify: limits || check ? verify : undefined,
    }
  }
}

/** The change of a row that has lost a reference, without its facts. */
export function clearedChange(
  { collection, id }: CascadeItem,
  changed: readonly string[],
  texts: Pick<ItemChange, 'before' | 'data'>,
  by: Author,
): ItemChange {
  const change = { collection: collection.name, itemId: id, kind: 'updated', changed, by } as const
  return { ...change, ...texts, facts: null, factsBefore: null }
}

/** The values of all fields that change with the reference. */
function clearedValues(
  reference: ReferringField,
  logic: WriteLogic | undefined,
  stored: string,
  principal: Principal,
  now: string,
): PreparedValues {
  const { collection, field } = reference
  const values = new Map<Field, JsonValue>([[field, null]])
  const updatedAt = collection.fields.get('updated_at')
  if (updatedAt !== undefined) values.set(updatedAt, updatedAt.type.encoding.now?.(now) ?? now)
  if (logic === undefined) return values
  const previous = JSON.parse(stored)
  const cleared = [...values].map(([{ name: key }, value]) => [key, value] as const)
  const next = { ...previous, ...Object.fromEntries(cleared) }
  const prepared = runLogic(reference, () => logic.run({ next, previous, principal, now }))
  return new Map([...values, ...prepared])
}

function runLogic(reference: ReferringField, run: () => PreparedValues): PreparedValues {
  try {
    return run()
  } catch (cause) {
    throw withoutFaults(reference, cause)
  }
}

/** What a check may refuse with: those that `refuse` takes, and too many reads. */
const refusals: ReadonlySet<string> = new Set([
  'VALIDATION_FAILED',
  'CONFLICT',
  'FORBIDDEN',
  'NOT_FOUND',
  'BAD_REQUEST',
])

/** The logic of an item has refused that it loses its reference. Callers who may not read the item must not be told its collection. */
export class ClearingRefused extends ApiError {
  constructor({ collection, field }: ReferringField, cause: unknown) {
    super('CONFLICT', `Items of ${collection.name} may not lose what they refer to by ${field.name}.`, {
      cause,
    })
  }
}

/** Hides the faults of a check, since the caller may not be allowed to read the item that loses its reference. */
function withoutFaults(reference: ReferringField, cause: unknown): unknown {
  if (!(cause instanceof ApiError) || !refusals.has(cause.code)) return cause
  return new ClearingRefused(reference, cause)
}

/** Changes the row and returns its text for the event. */
type ClearRow<S> = (id: number, values: PreparedValues, scope: WriteScope<S>) => QuerySteps<S, SqlValue>

function clearRowOf<S>(collection: Collection, database: WriteDatabase<S>): ClearRow<S> {
  const storedRow = returningRow(collection, database.dialect)
  const index = database.searchIndex(collection)
  const texts = collection.searchable.map((field): Sql => name(field.name))
  const statements = new Map<string, S>()
  const statementFor = (set: readonly GuardedAssignment[]): S => {
    const key = set.map(({ field }) => field.name).join()
    const existing = statements.get(key)
    if (existing !== undefined) return existing
    if (statements.size >= maxStatements) statements.clear()
    const outputs = [eventSql(collection, storedRow), ...texts]
    const statement = database.prepare(
      updateSql(collection, set, slot(set.length), outputs, database.dialect),
    )
    statements.set(key, statement)
    return statement
  }
  return function* change(id, values, scope) {
    const set = [...values.keys()].map(assignedBySlot)
    const slots = [...values].map(([{ type }, value]) => encode(value, type.encoding))
    const update = { statement: statementFor(set), inputs: slotInputs([...slots, id]) }
    let outputs: readonly SqlValue[] | undefined
    try {
      const [rows] = yield [update]
      outputs = rows?.[0]
    } catch (cause) {
      throw database.changeError(cause, set, slots)
    }
    if (index !== undefined && set.some(({ field }) => field.searchable)) {
      index.write(id, outputs?.slice(1) ?? [], false, scope)
    }
    return outputs?.[0] ?? null
  }
}

const maxStatements = 64
