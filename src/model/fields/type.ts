/** JSON as TypeScript sees it, and the operators of filters. */

/** A value that JSON can express (RFC 8259). */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

export type JsonObject = Readonly<Record<string, JsonValue>>

/** A JSON Schema (2020-12) object. */
export type JsonSchema = { readonly [key: string]: JsonValue }

export type FilterOperator =
  | 'eq'
  | 'ne'
  | 'gt'
  | 'gte'
  | 'lt'
  | 'lte'
  | 'in'
  | 'contains'
  | 'icontains'
  | 'starts_with'
  | 'null'
