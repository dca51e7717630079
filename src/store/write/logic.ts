/** The model's own code within a write: `prepare` sets values, `check` finds faults. */
import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '../../errors.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { LogicCaller, LogicItem, WriteContext } from '../../model/logic.ts'
import type { Collection, Field } from '../../model/model.ts'
import type { Principal } from '../../principal.ts'
import { type TimeLimit, TimeLimitError } from '../../time-limit.ts'
import type { Row } from '../sql/row.ts'
import { itemSql } from '../sql/write.ts'
import type { Sql } from '../sql/writer.ts'
import { LogicFault, preparedValues, requireNoFaults, settableFields } from './logic-results.ts'

export interface LogicWrite {
  /** The item as it is to be stored, without internal fields. */
  readonly next: LogicItem
  /** Undefined for a create. */
  readonly previous: LogicItem | undefined
  readonly principal: Principal
  /** ISO 8601 UTC. */
  readonly now: string
}

/** What `prepare` sets to other values than `next` has. */
export type PreparedValues = ReadonlyMap<Field, JsonValue>

export interface WriteLogic {
  /** What `previous` is made of, as JSON text. */
  stored(row: Row): Sql
  /** Throws VALIDATION_FAILED with what `check` finds, and INTERNAL_ERROR, with its cause, where the code itself fails. */
  run(write: LogicWrite): PreparedValues
}

/** Undefined for a collection without such code. */
export function writeLogicOf(collection: Collection, timeLimit: TimeLimit): WriteLogic | undefined {
  const { name, prepare, check } = collection
  if (prepare === undefined && check === undefined) return undefined
  const settable = settableFields(collection)
  const preparing = (context: WriteContext, place: string): PreparedValues => {
    if (prepare === undefined) return noValues
    const values = called(place, () => preparedValues(prepare(context), settable, place))
    const changed = changedValues(values, context.next)
    if (context.previous === undefined) requireAll(collection, context.next, changed)
    return changed
  }
  const checking = (context: WriteContext, changed: PreparedValues, place: string): void => {
    if (check === undefined) return
    const { next } = context
    const result = changed.size === 0 ? context : frozen({ ...context, next: withValues(next, changed) })
    const faults = called(place, () => requireNoFaults(check(result), collection, place))
    if (faults !== undefined) throw faults
  }
  return {
    stored: row => itemSql(collection, row),
    run({ next, previous, principal, now }) {
      const context = frozen({ next, previous, caller: callerOf(principal), now })
      const stages = new Stages(`${name}.prepare`, `${name}.check`)
      // One bound for both: to set one up takes longer than most of such code.
      return bounded(timeLimit, stages, () => {
        const changed = preparing(context, stages.place)
        stages.next()
        checking(context, changed, stages.place)
        return changed
      })
    },
  }
}

/** Where the code of one write is, and where it took longest. */
class Stages {
  place: string
  readonly #first: string
  readonly #second: string
  readonly #began = performance.now()
  #firstMs = 0

  constructor(first: string, second: string) {
    this.place = first
    this.#first = first
    this.#second = second
  }

  next(): void {
    this.#firstMs = performance.now() - this.#began
    this.place = this.#second
  }

  get slowest(): string {
    if (this.place === this.#first) return this.#first
    const secondMs = performance.now() - this.#began - this.#firstMs
    return this.#firstMs > secondMs ? this.#first : this.#second
  }
}

function bounded<T>(timeLimit: TimeLimit, stages: Stages, work: () => T): T {
  try {
    return timeLimit.run(() => stages.slowest, work)
  } catch (cause) {
    throw cause instanceof TimeLimitError ? refused(stages.place, cause) : cause
  }
}

/** Code of the model. */
function called<T>(place: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw refused(place, cause)
  }
}

const noValues: PreparedValues = new Map()

function refused(place: string, cause: unknown): ApiError {
  const fault = cause instanceof LogicFault ? cause : new LogicFault(`${place} has failed.`, { cause })
  return new ApiError('INTERNAL_ERROR', undefined, { cause: fault })
}

function changedValues(values: PreparedValues, next: LogicItem): PreparedValues {
  return new Map([...values].filter(([field, value]) => !isDeepStrictEqual(value, next[field.name])))
}

function withValues(item: LogicItem, values: PreparedValues): LogicItem {
  return { ...item, ...Object.fromEntries([...values].map(([field, value]) => [field.name, value])) }
}

/** What clients cannot set and every item must have is for `prepare` to set. */
function requireAll({ name, fields }: Collection, next: LogicItem, values: PreparedValues): void {
  for (const field of fields.values()) {
    if (!field.readOnly || field.optional || !Object.hasOwn(next, field.name)) continue
    if (next[field.name] !== null || values.has(field)) continue
    const place = `${name}.prepare`
    throw refused(
      place,
      new LogicFault(`${place} must set "${field.name}", which is read-only and required.`),
    )
  }
}

/** Null for nobody, for an app by itself, and for Portico itself. */
function callerOf({ userId, access }: Principal): LogicCaller | null {
  if (userId === null) return null
  const { role, scopes } = access
  return { id: userId, role: role ?? '', scopes: scopes === 'all' ? scopes : [...scopes].sort() }
}

function frozen(context: WriteContext): WriteContext {
  return deepFrozen(context)
}

function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const part of Object.values(value)) deepFrozen(part)
  return value
}
