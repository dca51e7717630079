/** The model's own code within a write: `prepare` sets values, `check` finds faults. */
import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import { type TimeLimit, TimeLimitError } from '../../../base/time-limit.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { LogicCaller, LogicItem, WriteContext } from '../../../model/logic/logic.ts'
import type { Collection, Field } from '../../../model/model.ts'
import type { RowAlias } from '../sql/row-alias.ts'
import { logicItemSql } from '../sql/write.ts'
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

/** The values of `prepare` that differ from those of `next`. */
export type PreparedValues = ReadonlyMap<Field, JsonValue>

export interface WriteLogic {
  /** An output of the stored row: `previous` as JSON text. */
  stored(row: RowAlias): Sql
  /** Throws VALIDATION_FAILED with the faults of `check`, and INTERNAL_ERROR, with its cause, if the code itself fails. */
  run(write: LogicWrite): PreparedValues
}

/** Undefined for a collection without such code. */
export function writeLogicOf(collection: Collection, timeLimit: TimeLimit): WriteLogic | undefined {
  const { name, prepare, check } = collection
  if (prepare === undefined && check === undefined) return undefined
  const settable = settableFields(collection)
  const runPrepare = (context: WriteContext, place: string): PreparedValues => {
    if (prepare === undefined) return noValues
    const values = callModel(place, () => preparedValues(prepare(context), settable, place))
    const changed = changedValues(values, context.next)
    if (context.previous === undefined) requireAll(collection, context.next, changed)
    return changed
  }
  const runCheck = (context: WriteContext, changed: PreparedValues, place: string): void => {
    if (check === undefined) return
    const { next } = context
    const result =
      changed.size === 0 ? context : deepFreeze<WriteContext>({ ...context, next: withValues(next, changed) })
    const faults = callModel(place, () => requireNoFaults(check(result), collection, place))
    if (faults !== undefined) throw faults
  }
  return {
    stored: row => logicItemSql(collection, row),
    run({ next, previous, principal, now }) {
      const context = deepFreeze<WriteContext>({ next, previous, caller: callerOf(principal), now })
      const stages = new Stages(`${name}.prepare`, `${name}.check`)
      // One time limit for both: setting one up takes longer than most of this code.
      return withTimeLimit(timeLimit, stages, () => {
        const changed = runPrepare(context, stages.place)
        stages.next()
        runCheck(context, changed, stages.place)
        return changed
      })
    },
  }
}

/** Which function of one write is running, and which took longest. */
class Stages {
  place: string
  readonly #first: string
  readonly #second: string
  readonly #startedAt = performance.now()
  #firstMs = 0

  constructor(first: string, second: string) {
    this.place = first
    this.#first = first
    this.#second = second
  }

  next(): void {
    this.#firstMs = performance.now() - this.#startedAt
    this.place = this.#second
  }

  get slowest(): string {
    if (this.place === this.#first) return this.#first
    const secondMs = performance.now() - this.#startedAt - this.#firstMs
    return this.#firstMs > secondMs ? this.#first : this.#second
  }
}

function withTimeLimit<T>(timeLimit: TimeLimit, stages: Stages, work: () => T): T {
  try {
    return timeLimit.run(() => stages.slowest, work)
  } catch (cause) {
    throw cause instanceof TimeLimitError ? logicError(stages.place, cause) : cause
  }
}

/** Calls the model's code. */
function callModel<T>(place: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw logicError(place, cause)
  }
}

const noValues: PreparedValues = new Map()

function logicError(place: string, cause: unknown): ApiError {
  const fault = cause instanceof LogicFault ? cause : new LogicFault(`${place} has failed.`, { cause })
  return new ApiError('INTERNAL_ERROR', undefined, { cause: fault })
}

function changedValues(values: PreparedValues, next: LogicItem): PreparedValues {
  return new Map([...values].filter(([field, value]) => !isDeepStrictEqual(value, next[field.name])))
}

function withValues(item: LogicItem, values: PreparedValues): LogicItem {
  return { ...item, ...Object.fromEntries([...values].map(([field, value]) => [field.name, value])) }
}

/** `prepare` must set required fields that clients cannot set. */
function requireAll({ name, fields }: Collection, next: LogicItem, values: PreparedValues): void {
  for (const field of fields.values()) {
    if (!field.readOnly || field.optional || !Object.hasOwn(next, field.name)) continue
    if (next[field.name] !== null || values.has(field)) continue
    const place = `${name}.prepare`
    throw logicError(
      place,
      new LogicFault(`${place} must set "${field.name}", which is read-only and required.`),
    )
  }
}

/** Null for anonymous callers, for an app without a user, and for Portico itself. */
function callerOf({ userId, access }: Principal): LogicCaller | null {
  if (userId === null) return null
  const { role, scopes } = access
  return { id: userId, role: role ?? '', scopes: scopes === 'all' ? scopes : [...scopes].sort() }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const part of Object.values(value)) deepFreeze(part)
  return value
}
