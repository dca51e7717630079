import { declared, defaultOf, type FieldDeclaration, type FieldOptions } from './declared.ts'
import type { FieldType } from './field-type.ts'
import type { Marker } from './marker.ts'
import { orderedOperators, textEncoding, textOr } from './textual.ts'
import type { JsonValue } from './type.ts'

interface UuidOptions extends FieldOptions {
  readonly default?: string | Marker<'uuid'>
}

/** RFC 9562, 4: any version and variant. */
const grammar = /^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/

/** Whether the text is a UUID. */
export function isUuid(text: string): boolean {
  return grammar.test(text)
}

function requireUuid(value: JsonValue): string {
  if (typeof value === 'string' && isUuid(value)) return value.toLowerCase()
  throw new RangeError('The value must be a UUID, e.g. 0b1c9c1e-6f5d-4c39-9a53-2f6f3b8e4d10.')
}

const schema = { type: 'string', format: 'uuid' }

const uuidType: FieldType = {
  name: 'uuid',
  encoding: textEncoding,
  graphql: { type: 'String' },
  operators: orderedOperators,
  sortable: true,
  schema,
  filterSchema: schema,
  canonical: requireUuid,
  fromText: textOr(requireUuid),
}

/** A UUID, in lower case. `default: randomUuid` creates a new one. */
export function uuid<const O extends UuidOptions>(options?: O): FieldDeclaration<string, O> {
  return declared({ type: uuidType, options, checks: { default: defaultOf('uuid') } })
}
