/** Validates the results of the model's own code, which may be any values, as a part of that code: getters may run. */
import { isDeepStrictEqual, types } from 'node:util'
import type { ApiError, FieldFault } from '../../../base/errors.ts'
import { userFields } from '../../../model/builtin/builtin.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import { canonicalOf } from '../../../model/json-schema/faults.ts'
import type { Collection, Field } from '../../../model/model.ts'
import { didYouMean } from '../../../model/suggest.ts'
import { validationError } from '../../../model/validate.ts'

/** A fault of the model's own code, for the operator: it begins with the code's place in the model. */
export class LogicFault extends Error {}

const builtinNames = ['id', 'created_at', 'updated_at']

/** The fields that `prepare` may set. Email addresses and roles of accounts have rules of their own. */
export function settableFields({ name, fields }: Collection): ReadonlyMap<string, Field> {
  const builtin = new Set(name === 'users' ? [...builtinNames, ...Object.keys(userFields)] : builtinNames)
  return new Map([...fields].filter(([field, { internal }]) => !internal && !builtin.has(field)))
}

/** Canonical values. `next`: the item as it is without them. Throws a `LogicFault`. */
export function preparedValues(
  returned: unknown,
  settable: ReadonlyMap<string, Field>,
  place: string,
  next: JsonObject,
): ReadonlyMap<Field, JsonValue> {
  if (returned === undefined) return new Map()
  requireSynchronous(returned, place)
  if (!isPlainObject(returned)) {
    throw new LogicFault(`${place} returned ${describe(returned)}: return an object with values, or nothing.`)
  }
  const size = { left: maxSize }
  const values = new Map<Field, JsonValue>()
  for (const [name, value] of Object.entries(returned)) {
    const field = settable.get(name)
    if (field === undefined) {
      throw new LogicFault(`${place} sets "${name}", which it cannot.${didYouMean(name, settable.keys())}`)
    }
    if (value === undefined) continue
    const json = jsonOf(value, `${place} sets "${name}"`, size)
    // A file cannot be written as it is read.
    if (field.type.file !== undefined && json !== null && isDeepStrictEqual(json, next[name])) continue
    values.set(field, canonicalValue(field, json, place))
  }
  return values
}

function canonicalValue(field: Field, value: JsonValue, place: string): JsonValue {
  if (value === null) {
    if (field.optional) return null
    throw new LogicFault(`${place} sets "${field.name}" to null, but it is required.`)
  }
  const result = canonicalOf(field.type, value)
  if ('value' in result) return result.value
  throw new LogicFault(`${place} sets "${field.name}" to a value that does not fit. ${result.fault}`)
}

const maxFaults = 100
const maxMessageLength = 1000
const codePattern = /^[a-z][a-z0-9_]{0,49}$/

/** The error for the faults that `check` found; undefined: none. Throws a `LogicFault` if it returned something else. */
export function requireNoFaults(
  returned: unknown,
  collection: Collection,
  place: string,
): ApiError | undefined {
  if (returned === undefined) return undefined
  requireSynchronous(returned, place)
  if (!Array.isArray(returned)) {
    throw new LogicFault(`${place} returned ${describe(returned)}: return a list of faults, or nothing.`)
  }
  const faults = returned.slice(0, maxFaults).map(fault => faultOf(fault, collection, place))
  return faults.length === 0 ? undefined : validationError(faults)
}

function faultOf(value: unknown, { fields }: Collection, place: string): FieldFault {
  if (!isPlainObject(value))
    throw new LogicFault(`${place} returned a fault that is ${describe(value)}. ${example}`)
  const { field = '', message, code = 'invalid' } = value
  if (typeof message !== 'string' || message === '' || message.length > maxMessageLength) {
    const bound = `a message of 1 to ${maxMessageLength} characters`
    throw new LogicFault(`${place} returned a fault without ${bound}. ${example}`)
  }
  if (typeof field !== 'string' || (field !== '' && (fields.get(field)?.internal ?? true))) {
    const suggestion = didYouMean(String(field), fields.keys())
    throw new LogicFault(
      `${place} returned a fault of a field that is not there: ${describe(field)}.${suggestion}`,
    )
  }
  if (typeof code !== 'string' || !codePattern.test(code)) {
    throw new LogicFault(
      `${place} returned a fault with the code ${describe(code)}: write it like \`too_early\`.`,
    )
  }
  return { field, code, message }
}

const example = "Write e.g. `{ field: 'title', message: 'A task needs a title.' }`."

function requireSynchronous(value: unknown, place: string): void {
  if (!types.isPromise(value)) return
  // An unhandled rejection would end the process.
  value.catch(() => {})
  throw new LogicFault(`${place} returned a promise: it runs within the write, and cannot wait.`)
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** In values, and characters of text. */
const maxSize = 1_048_576
const maxDepth = 100

/** A copy of a JSON value, which later changes of the original do not affect. */
function jsonOf(value: unknown, subject: string, size: { left: number }, depth = 0): JsonValue {
  size.left -= typeof value === 'string' ? value.length : 1
  if (size.left < 0) throw new LogicFault(`${subject} to a value that is too large.`)
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (depth === maxDepth)
    throw new LogicFault(`${subject} to a value that is nested too deep, or contains itself.`)
  if (Array.isArray(value)) return value.map(element => jsonOf(element, subject, size, depth + 1))
  if (!isPlainObject(value)) throw new LogicFault(`${subject} to ${describe(value)}, which is not JSON.`)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, jsonOf(member, subject, size, depth + 1)]),
  )
}

/** Describes a value for a message, without calling the value's own code. */
function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 100))
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  if (types.isDate(value)) return 'a Date (write `toISOString()`)'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `of the type ${typeof value}`
}
