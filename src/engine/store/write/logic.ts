/** The model's own code within a write: `prepare` sets values, `check` finds faults. */
import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { Watchdog } from '../../../base/watchdog/watchdog.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { callerOf } from '../../../model/logic/caller.ts'
import type { LogicItem, WriteContext } from '../../../model/logic/logic.ts'
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
export function writeLogicOf(collection: Collection, watchdog: Watchdog): WriteLogic | undefined {
  const { name, prepare, check } = collection
  if (prepare === undefined && check === undefined) return undefined
  const settable = settableFields(collection)
  const runPrepare = (context: WriteContext): PreparedValues => {
    if (prepare === undefined) return noValues
    const place = `${name}.prepare`
    const values = callModel(watchdog, place, () =>
      preparedValues(prepare(context), settable, place, context.next),
    )
    const changed = changedValues(values, context.next)
    if (context.previous === undefined) requireAll(collection, context.next, changed)
    return changed
  }
  const runCheck = (context: WriteContext, changed: PreparedValues): void => {
    if (check === undefined) return
    const { next } = context
    const result =
      changed.size === 0 ? context : deepFreeze<WriteContext>({ ...context, next: withValues(next, changed) })
    const place = `${name}.check`
    const faults = callModel(watchdog, place, () => requireNoFaults(check(result), collection, place))
    if (faults !== undefined) throw faults
  }
  return {
    stored: row => logicItemSql(collection, row),
    run({ next, previous, principal, now }) {
      const context = deepFreeze<WriteContext>({ next, previous, caller: callerOf(principal), now })
      const changed = runPrepare(context)
      runCheck(context, changed)
      return changed
    },
  }
}

/** Calls the model's code. */
function callModel<T>(watchdog: Watchdog, place: string, work: () => T): T {
  try {
    return watchdog.run(place, work)
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

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const part of Object.values(value)) deepFreeze(part)
  return value
}
