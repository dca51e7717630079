/** The model's own code within an update: it may set fields that the caller did not set. */
import { isDeepStrictEqual } from 'node:util'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Field } from '../../model/model.ts'
import type { GuardedAssignment, GuardedPlan, GuardedUpdate } from '../../plan/guarded.ts'
import type { Row } from '../sql/row.ts'
import type { Sql } from '../sql/writer.ts'
import { encoded, type SqlValue } from '../values.ts'
import { jsonOf } from './assign.ts'
import { type Change, changer, realChanges } from './change.ts'
import type { WriteDatabase } from './database.ts'
import { type PreparedValues, type WriteLogic, writeLogicOf } from './logic.ts'

/** The values of the caller's assignments. */
interface UpdateValues {
  readonly plan: GuardedPlan
  readonly now: string
  readonly json: readonly JsonValue[]
  /** The same values as they are stored. Merged documents replace their patches. */
  readonly slots: SqlValue[]
}

/** An update with the values that `prepare` sets. */
interface MadeUpdate<S> {
  readonly change: Change<S>
  readonly changed: readonly GuardedAssignment[]
  /** Of the assignments of `change`. */
  readonly slots: readonly SqlValue[]
}

export interface UpdateLogic<S> {
  /** See `WriteLogic`. */
  stored(row: Row): Sql
  valuesOf(plan: GuardedPlan, now: string): UpdateValues
  /** Undefined if `prepare` sets nothing. `stored`: the value of that output. Throws as `WriteLogic.run` does. */
  made(
    values: UpdateValues,
    changed: readonly GuardedAssignment[],
    stored: SqlValue | undefined,
  ): MadeUpdate<S> | undefined
}

export function updateLogic<S>(shape: GuardedUpdate, database: WriteDatabase<S>): UpdateLogic<S> | undefined {
  const logic = writeLogicOf(shape.collection, database.timeLimit)
  if (logic === undefined) return undefined
  const { set } = shape
  const changes = new Changes(shape, database)
  return {
    stored: row => logic.stored(row),
    valuesOf(plan, now) {
      const json = set.map(one => jsonOf(one, plan, now))
      return {
        plan,
        now,
        json,
        slots: json.map((value, at) => encoded(value, set[at]?.field.type.encoding ?? asIs)),
      }
    },
    made(values, changed, stored) {
      // The model's code does not see internal fields.
      if (changed.every(({ field }) => field.internal) || typeof stored !== 'string') return undefined
      const previous = JSON.parse(stored)
      const made = runLogic(logic, set, values, changed, previous)
      return made.size === 0 ? undefined : changes.made(made, changed, previous, values)
    },
  }
}

const asIs = { name: 'as it is', encode: (value: JsonValue) => value as string }

function runLogic(
  logic: WriteLogic,
  set: readonly GuardedAssignment[],
  { plan, now, json, slots }: UpdateValues,
  changed: readonly GuardedAssignment[],
  previous: Readonly<Record<string, JsonValue>>,
): PreparedValues {
  const given = changed
    .filter(({ field }) => !field.internal)
    .map(one => {
      const at = set.indexOf(one)
      const text = slots[at]
      const value = one.merges && typeof text === 'string' ? JSON.parse(text) : json[at]
      return [one.field.name, value ?? null] as const
    })
  const next = { ...previous, ...Object.fromEntries(given) }
  return logic.run({ next, previous, principal: plan.principal, now })
}

/** More combinations of fields than code sets, unless values decide which fields it sets. */
const maxChanges = 64

interface KnownChange<S> {
  readonly set: readonly GuardedAssignment[]
  readonly change: Change<S>
}

/** The statements of an update, by the fields that `prepare` sets. */
class Changes<S> {
  readonly #shape: GuardedUpdate
  readonly #database: WriteDatabase<S>
  readonly #known = new Map<string, KnownChange<S>>()

  constructor(shape: GuardedUpdate, database: WriteDatabase<S>) {
    this.#shape = shape
    this.#database = database
  }

  made(
    values: PreparedValues,
    changed: readonly GuardedAssignment[],
    previous: Readonly<Record<string, JsonValue>>,
    { slots }: UpdateValues,
  ): MadeUpdate<S> {
    const { set, change } = this.#of([...values.keys()])
    const slotOf = (one: GuardedAssignment): SqlValue => {
      const value = values.get(one.field)
      if (value === undefined) return slots[this.#shape.set.indexOf(one)] ?? null
      return encoded(value, one.field.type.encoding)
    }
    const kept = changed.filter(({ field }) => !values.has(field))
    const own = set.filter(({ field }) => {
      const value = values.get(field)
      return value !== undefined && !isDeepStrictEqual(value, previous[field.name])
    })
    return { change, changed: realChanges([...kept, ...own]), slots: set.map(slotOf) }
  }

  #of(fields: readonly Field[]): KnownChange<S> {
    const key = fields
      .map(({ name }) => name)
      .sort()
      .join()
    const known = this.#known.get(key)
    if (known !== undefined) return known
    if (this.#known.size >= maxChanges) this.#known.clear()
    const given = this.#shape.set.filter(({ field }) => !fields.includes(field))
    const set = [...given, ...fields.map(field => ({ field, value: noValue }))]
    const made = { set, change: changer({ ...this.#shape, set }, this.#database) }
    this.#known.set(key, made)
    return made
  }
}

const noValue = { kind: 'literal', value: null } as const
