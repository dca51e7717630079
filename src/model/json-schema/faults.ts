/** Messages for values that a schema refuses, for clients and for authors of models. */
import type { ErrorObject } from 'ajv/dist/2020.js'
import type { FieldType } from '../fields/field-type.ts'
import type { JsonSchema, JsonValue } from '../fields/type.ts'
import { compile } from './compile.ts'
import { formats } from './formats.ts'
import { patternMessages } from './patterns.ts'

export interface Fault {
  /** Stable, e.g. `too_long`. */
  readonly code: string
  /** The requirement that the value fails, as the message has it after "must". */
  readonly must: string
  /** The place in the value, as a JSON Pointer (RFC 6901); empty for the value itself. */
  readonly pointer: string
}

type Params = Readonly<Record<string, unknown>>
type KeywordFault = readonly [code: string, must: (params: Params) => string]

const maxQuotedLength = 100

/** Truncates a client's text so that a response can quote it. */
export function brief(text: string): string {
  return text.length <= maxQuotedLength ? text : `${text.slice(0, maxQuotedLength).toWellFormed()}…`
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  null: 'null',
}

function anyOf(words: readonly string[]): string {
  const last = words.at(-1) ?? ''
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`
}

/** A `type` of JSON Schema, e.g. `a whole number`. */
export function typeInWords(type: unknown): string {
  return anyOf([type].flat().map(name => typeNames[String(name)] ?? String(name)))
}

function allowed(params: Params): string {
  const values = [params.allowedValues ?? params.allowedValue].flat()
  return `be ${anyOf(values.map(value => (typeof value === 'string' ? value : JSON.stringify(value))))}`
}

const characters = (limit: unknown) => (limit === 1 ? '1 character' : `${limit} characters`)
const items = (limit: unknown) => (limit === 1 ? '1 item' : `${limit} items`)

/** By keyword of JSON Schema. */
const byKeyword: Readonly<Record<string, KeywordFault>> = {
  type: ['wrong_type', params => `be ${typeInWords(params.type)}`],
  required: ['required', params => `have \`${brief(String(params.missingProperty))}\``],
  additionalProperties: [
    'unknown_field',
    params => `not have \`${brief(String(params.additionalProperty))}\``,
  ],
  maxLength: ['too_long', params => `have at most ${characters(params.limit)}`],
  minLength: ['too_short', params => `have at least ${characters(params.limit)}`],
  maxItems: ['too_long', params => `have at most ${items(params.limit)}`],
  minItems: ['too_short', params => `have at least ${items(params.limit)}`],
  uniqueItems: ['not_unique', () => 'have no item twice'],
  minimum: ['too_small', params => `be at least ${params.limit}`],
  maximum: ['too_large', params => `be at most ${params.limit}`],
  exclusiveMinimum: ['too_small', params => `be more than ${params.limit}`],
  exclusiveMaximum: ['too_large', params => `be less than ${params.limit}`],
  multipleOf: ['not_a_multiple', params => `be a multiple of ${params.multipleOf}`],
  enum: ['not_allowed', allowed],
  const: ['not_allowed', allowed],
  pattern: [
    'bad_pattern',
    params => patternMessages.get(String(params.pattern)) ?? `match the pattern ${params.pattern}`,
  ],
  format: [
    'bad_format',
    params => `be ${formats.get(String(params.format))?.sentence ?? `in the format ${params.format}`}`,
  ],
}

/** Turns Ajv's error into a message. */
function faultOf(error: ErrorObject): Fault {
  const keywordFault = Object.hasOwn(byKeyword, error.keyword) ? byKeyword[error.keyword] : undefined
  const pointer = brief(error.instancePath)
  if (!keywordFault) {
    return { code: 'not_allowed', must: `fulfil \`${error.keyword}\` of its schema`, pointer }
  }
  const [code, must] = keywordFault
  return { code, must: must(error.params), pointer }
}

/** Validation of longer texts stops at the first fault, so that no pattern runs over a text that is too long. */
const longTextLength = 1000

/** Every fault of a value; of a document only the first, since it may have very many. */
export function schemaFaults(schema: JsonSchema, value: JsonValue, isDocument = false): readonly Fault[] {
  const firstOnly = isDocument || (typeof value === 'string' && value.length > longTextLength)
  const validate = compile(schema, !firstOnly)
  if (validate(value)) return []
  // A format and a pattern may have the same message.
  const faults = new Map(
    (validate.errors ?? []).map(faultOf).map(fault => [`${fault.pointer} ${fault.must}`, fault]),
  )
  return [...faults.values()]
}

/** The canonical form of a value of this type, or a message. */
export function canonicalOf(
  type: FieldType,
  value: JsonValue,
): { readonly value: JsonValue } | { readonly fault: string } {
  const fault = schemaFaults(type.schema, value, true)[0]
  if (fault) return { fault: `The value must ${fault.must}.` }
  try {
    return { value: type.canonical(value) }
  } catch (error) {
    if (error instanceof RangeError) return { fault: error.message }
    throw error
  }
}
