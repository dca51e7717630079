/** Turns a client's body into canonical values, or reports every fault at once. */
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { ApiError, type FieldFault } from '../base/errors.ts'
import type { JsonObject, JsonValue } from './fields/type.ts'
import { compile } from './json-schema/compile.ts'
import { brief, schemaFaults } from './json-schema/faults.ts'
import type { Collection, Field } from './model.ts'
import { type BodyMode, bodySchema, isWritable, mergesObjects } from './schemas.ts'
import { didYouMean } from './suggest.ts'

export { itemSchema, openapiBodySchema, propertySchema } from './schemas.ts'

/** By the name of the field. Fields that the body omits are absent. */

/**
 * Checks a body that was parsed from JSON. Throws an `ApiError`: BAD_REQUEST when it is not an object,
 * VALIDATION_FAILED with every fault (at most 100) in `details`.
 */
type CheckBody = (body: unknown) => { readonly values: JsonObject }

export type BodyValidator = Readonly<Record<BodyMode, CheckBody>>

const maxFaults = 100

/** The fault of a name that a body of this mode may not contain. */
export function unwritableFault(name: string, collection: Collection, mode: BodyMode): FieldFault {
  const field = collection.fields.get(name) ?? collection.computed.get(name)
  const quotedName = brief(name)
  if (field?.readOnly && !field.internal) {
    return { field: quotedName, code: 'read_only', message: `${quotedName} is read-only. Leave it out.` }
  }
  if (field?.immutable && !field.internal) {
    const message = `${quotedName} can only be set when the item is created. Leave it out.`
    return { field: quotedName, code: 'immutable', message }
  }
  const names = [...collection.fields.values()]
    .filter(candidate => isWritable(candidate, mode))
    .map(candidate => candidate.name)
  const message = `There is no field ${quotedName}.${didYouMean(name, names)}`
  return { field: quotedName, code: 'unknown_field', message }
}

/** A stored document after a client's patch (RFC 7396). */
interface MergedDocument {
  readonly field: Field
  readonly value: JsonValue
  /** The limit in characters, if the document exceeds it. */
  readonly maxLength: number | undefined
}

/** Throws VALIDATION_FAILED with every document that does not fit its field. */
export function requireDocuments(documents: readonly MergedDocument[]): void {
  const faults: FieldFault[] = []
  for (const { field, value, maxLength } of documents) {
    const message = `${field.name} would become too large: it may have at most ${maxLength} characters.`
    if (maxLength === undefined) valueFaults(field, value, 'replace', faults)
    else faults.push({ field: field.name, code: 'too_long', message })
  }
  if (faults.length > 0) throw validationError(faults)
}

/** Undefined if the value has no canonical form; then a fault is added. */
function canonical(field: Field, value: JsonValue, faults: FieldFault[]): JsonValue | undefined {
  if (value === null) return null
  try {
    return field.type.canonical(value)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    faults.push({ field: field.name, code: 'bad_format', message: `${field.name}: ${error.message}` })
    return undefined
  }
}

function valueFaults(field: Field, value: JsonValue, mode: BodyMode, faults: FieldFault[]): void {
  const { name, type } = field
  if (value === null) {
    const message = `${name} must not be null.`
    if (!field.optional) faults.push({ field: name, code: 'null_not_allowed', message })
    return
  }
  const isPatch =
    mode === 'merge' && mergesObjects(field) && typeof value === 'object' && !Array.isArray(value)
  const violations = isPatch ? [] : schemaFaults(type.schema, value, type.isDocument)
  if (violations.length === 0) canonical(field, value, faults)
  for (const { code, must, pointer } of violations) {
    faults.push({ field: name + pointer, code, message: `${name}${pointer} must ${must}.` })
  }
}

/** Every fault of an invalid body. It is slow, so it runs only after the compiled schema has refused the body. */
function bodyFaults(body: object, collection: Collection, mode: BodyMode): readonly FieldFault[] {
  const faults: FieldFault[] = []
  for (const name of Object.keys(body)) {
    if (faults.length >= maxFaults) return faults.slice(0, maxFaults)
    const value: JsonValue = Reflect.get(body, name)
    const field = collection.fields.get(name)
    if (field && isWritable(field, mode)) valueFaults(field, value, mode, faults)
    else faults.push(unwritableFault(name, collection, mode))
  }
  const { required = [] } = bodySchema(collection, mode)
  for (const name of required as readonly string[]) {
    if (Object.hasOwn(body, name)) continue
    faults.push({ field: name, code: 'required', message: `${name} is required.` })
  }
  return faults.slice(0, maxFaults)
}

/** VALIDATION_FAILED with these faults, at least one. */
export function validationError(faults: readonly FieldFault[]): ApiError {
  const first = faults[0]?.message ?? 'The body does not fit the collection.'
  const count = faults.length < maxFaults ? faults.length : `at least ${maxFaults}`
  const message = faults.length > 1 ? `The body has ${count} faults. ${first}` : first
  return new ApiError('VALIDATION_FAILED', message, { details: faults })
}

function canonicalValues(body: object, collection: Collection): JsonObject {
  const values: Record<string, JsonValue> = {}
  const faults: FieldFault[] = []
  for (const [name, value] of Object.entries(body)) {
    const field = collection.fields.get(name)
    const canonicalValue = field && canonical(field, value, faults)
    if (canonicalValue !== undefined) values[name] = canonicalValue
  }
  if (faults.length > 0) throw validationError(faults)
  return values
}

function checkFor(collection: Collection, mode: BodyMode): CheckBody {
  let isValid: ValidateFunction | undefined
  return body => {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new ApiError('BAD_REQUEST', 'The body must be a JSON object with the fields of the item.')
    }
    isValid ??= compile(bodySchema(collection, mode))
    if (!isValid(body)) throw validationError(bodyFaults(body, collection, mode))
    return { values: canonicalValues(body, collection) }
  }
}

const validators = new WeakMap<Collection, BodyValidator>()

/** The validator of a collection's bodies. Its schemas are compiled at first use. */
export function bodyValidator(collection: Collection): BodyValidator {
  const existing = validators.get(collection)
  if (existing) return existing
  const validator: BodyValidator = {
    create: checkFor(collection, 'create'),
    replace: checkFor(collection, 'replace'),
    merge: checkFor(collection, 'merge'),
  }
  validators.set(collection, validator)
  return validator
}
