/** `{ seats: { increment: -1, min: 0 } }` in the values of an update. */
import { isObject } from '../../../base/json.ts'
import type { JsonObject } from '../../../model/fields/type.ts'
import type { Collection, Field } from '../../../model/model.ts'
import type { Increment } from '../../plan/plan.ts'
import { badValue } from './call-error.ts'

export type Increments = Readonly<Record<string, Increment>>

/** The increments among the values, and the other values. Throws BAD_REQUEST for one that is malformed. */
export function separateIncrements(
  values: JsonObject,
  { fields }: Collection,
  place: string,
): { readonly increments: Increments; readonly others: JsonObject } {
  const isIncrement = ([name, value]: [string, unknown]) => fields.get(name)?.type.summable && isObject(value)
  const entries = Object.entries(Object(values) as JsonObject)
  const increments = entries.filter(isIncrement).map(([name, value]) => {
    return [name, incrementOf(value, fields.get(name) as Field, `${place}: ${name}`)] as const
  })
  if (increments.length === 0) return { increments: {}, others: values }
  return {
    increments: Object.fromEntries(increments),
    others: Object.fromEntries(entries.filter(entry => !isIncrement(entry))),
  }
}

function incrementOf(value: unknown, { type }: Field, place: string): Increment {
  const isNumber = type.encoding.isWhole ? Number.isSafeInteger : Number.isFinite
  const { increment, min, max, ...others } = value as Record<string, unknown>
  const isValid =
    isNumber(increment) && [min, max].every(bound => bound === undefined || Number.isFinite(bound))
  if (!isValid || Object.keys(others).length > 0) {
    const kind = type.encoding.isWhole ? 'a whole number' : 'a number'
    throw badValue(place, `must be { increment: ${kind} }, perhaps with the bounds min and max.`)
  }
  return {
    increment: increment as number,
    ...(min !== undefined && { min: min as number }),
    ...(max !== undefined && { max: max as number }),
  }
}
