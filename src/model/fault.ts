/** What a client or a model's author reads when a value does not fit a schema. */
import type { ErrorObject } from 'ajv/dist/2020.js'
import { compile } from './fields/schema.ts'
import type { FieldType, JsonSchema, JsonValue } from './fields/type.ts'
import { formats } from './formats.ts'
import { inWords } from './patterns.ts'

export interface Fault {
  /** Stable, e.g. `too_long`. */
  readonly code: string
  /** What the value must be, after "must". */
  readonly must: string
  /** Where in the value, as a JSON Pointer (RFC 6901); empty for the value itself. */
  readonly at: string
}

type Params = Readonly<Record<string, unknown>>
type Row = readonly [code: string, must: (params: Params) => string]

const LONGEST = 100

/** Cut to a length that is safe to repeat in an answer. */
export function brief(text: string, longest = LONGEST): string {
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}…`
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

/** By JSON Schema keyword. */
const rows: Readonly<Record<string, Row>> = {
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
    params => inWords.get(String(params.pattern)) ?? `match the pattern ${params.pattern}`,
  ],
  format: [
    'bad_format',
    params => `be ${formats.get(String(params.format))?.sentence ?? `in the format ${params.format}`}`,
  ],
}

/** An error of a compiled schema, in plain words. */
function faultOf(error: ErrorObject): Fault {
  const row = Object.hasOwn(rows, error.keyword) ? rows[error.keyword] : undefined
  const at = brief(error.instancePath)
  return row
    ? { code: row[0], must: row[1](error.params), at }
    : { code: 'not_allowed', must: `fulfil \`${error.keyword}\` of its schema`, at }
}

/** Texts longer than this stop at their first fault, so no pattern runs over what is too long. */
const LONG_TEXT = 1000

/** Every fault of a value by a schema; in documents only the first, since they may have very many. */
export function schemaFaults(schema: JsonSchema, value: JsonValue, document: boolean): readonly Fault[] {
  const firstOnly = document || (typeof value === 'string' && value.length > LONG_TEXT)
  const validate = compile(schema, !firstOnly)
  if (validate(value)) return []
  // A format and a pattern may say the same.
  const faults = new Map(
    (validate.errors ?? []).map(faultOf).map(fault => [`${fault.at} ${fault.must}`, fault]),
  )
  return [...faults.values()]
}

/** The canonical form of a value of this type, or what is wrong with it. */
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
