/** The model's own code within an update: it may set fields that the caller did not set. */
import { isDeepStrictEqual } from 'node:util'
import type { StoredValue } from '../../../model/fields/encoding.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import type { Field } from '../../../model/model.ts'
import type { GuardedAssignment, GuardedPlan, GuardedUpdate } from '../../plan/guarded.ts'
import type { RowAlias } from '../sql/row-alias.ts'
import type { Sql } from '../sql/writer.ts'
import { encode, type SqlValue } from '../values.ts'
import { assignedBySlot, jsonOf } from './assign.ts'
import { type ChangeRow, realChanges, rowChangeOf } from './change.ts'
import type { WriteDatabase } from './database.ts'
import { type PreparedValues, type WriteLogic, writeLogicOf } from './logic.ts'

/** The values of the caller's assignments. */
interface UpdateValues {
  readonly plan: GuardedPlan
  readonly now: string
  readonly json: readonly JsonValue[]
  /** The same values as they are stored. Merged documents and incremented numbers replace what changes them. */
  readonly slots: SqlValue[]
}

/** An update with the values that `prepare` sets. */
interface PreparedUpdate<S> {
  readonly change: ChangeRow<S>
  readonly changed: readonly GuardedAssignment[]
  /** The fields that `prepare` sets. */
  readonly fields: ReadonlySet<Field>
  /** The values of the assignments of `change`. */
  readonly slots: readonly SqlValue[]
}

export interface UpdateLogic<S> {
  /** See `WriteLogic`. */
  stored(row: RowAlias): Sql
  valuesOf(plan: GuardedPlan, now: string): UpdateValues
  /** Undefined if `prepare` sets nothing. `stored`: the value of the output. Throws the errors of `WriteLogic.run`. */
  prepare(
    values: UpdateValues,
    changed: readonly GuardedAssignment[],
    stored: SqlValue | undefined,
  ): PreparedUpdate<S> | undefined
}

export function updateLogic<S>(shape: GuardedUpdate, database: WriteDatabase<S>): UpdateLogic<S> | undefined {
  const logic = writeLogicOf(shape.collection, database.watchdog)
  if (logic === undefined) return undefined
  const { set } = shape
  const changes = new UpdateStatements(shape, database)
  return {
    stored: row => logic.stored(row),
    valuesOf(plan, now) {
      const json = set.map(assignment => jsonOf(assignment, plan, now))
      return {
        plan,
        now,
        json,
        slots: json.map((value, index) => encode(value, set[index]?.field.type.encoding ?? asIs)),
      }
    },
    prepare(values, changed, stored) {
      // The model's code does not see internal fields.
      if (changed.every(({ field }) => field.internal) || typeof stored !== 'string') return undefined
      const previous = JSON.parse(stored)
      const prepared = runLogic(logic, set, values, changed, previous)
      return prepared.size === 0 ? undefined : changes.update(prepared, changed, previous, values)
    },
  }
}

const asIs = { name: 'as it is', encode: (value: JsonValue) => value as string }

function runLogic(
  logic: WriteLogic,
  set: readonly GuardedAssignment[],
  { plan, now, json, slots }: UpdateValues,
  changed: readonly GuardedAssignment[],
  previous: JsonObject,
): PreparedValues {
  const assigned = changed
    .filter(({ field }) => !field.internal)
    .map(assignment => {
      const index = set.indexOf(assignment)
      const slot = slots[index]
      const isComputed = (assignment.merges && typeof slot === 'string') || assignment.increments
      const value = isComputed ? assignment.field.type.encoding.decode(slot as StoredValue) : json[index]
      return [assignment.field.name, value ?? null] as const
    })
  const next = { ...previous, ...Object.fromEntries(assigned) }
  return logic.run({ next, previous, principal: plan.principal, now })
}

/** The maximum number of cached combinations of fields. More occur only if values decide which fields `prepare` sets. */
const maxChanges = 64

interface CachedChange<S> {
  readonly set: readonly GuardedAssignment[]
  readonly change: ChangeRow<S>
}

/** The statements of an update, cached by the fields that `prepare` sets. */
class UpdateStatements<S> {
  readonly #shape: GuardedUpdate
  readonly #database: WriteDatabase<S>
  readonly #cached = new Map<string, CachedChange<S>>()

  constructor(shape: GuardedUpdate, database: WriteDatabase<S>) {
    this.#shape = shape
    this.#database = database
  }

  update(
    values: PreparedValues,
    changed: readonly GuardedAssignment[],
    previous: JsonObject,
    { slots }: UpdateValues,
  ): PreparedUpdate<S> {
    const { set, change } = this.#changeFor([...values.keys()])
    const slotOf = (assignment: GuardedAssignment): SqlValue => {
      const value = values.get(assignment.field)
      if (value === undefined) return slots[this.#shape.set.indexOf(assignment)] ?? null
      return encode(value, assignment.field.type.encoding)
    }
    const callerChanges = changed.filter(({ field }) => !values.has(field))
    const preparedChanges = set.filter(({ field }) => {
      const value = values.get(field)
      return value !== undefined && !isDeepStrictEqual(value, previous[field.name])
    })
    const all = realChanges([...callerChanges, ...preparedChanges])
    return { change, changed: all, fields: new Set(values.keys()), slots: set.map(slotOf) }
  }

  #changeFor(fields: readonly Field[]): CachedChange<S> {
    const key = fields
      .map(({ name }) => name)
      .sort()
      .join()
    const cached = this.#cached.get(key)
    if (cached !== undefined) return cached
    if (this.#cached.size >= maxChanges) this.#cached.clear()
    const others = this.#shape.set.filter(({ field }) => !fields.includes(field))
    const set = [...others, ...fields.map(assignedBySlot)]
    const change = { set, change: rowChangeOf({ ...this.#shape, set }, this.#database) }
    this.#cached.set(key, change)
    return change
  }
}
