/** The declaration of a field type. Each type has a file of its own; shared code never checks which type a field has. */

import type { DateGroup } from './date-parts.ts'
import type { Encoding } from './encoding.ts'
import type { FilterOperator, JsonSchema, JsonValue } from './type.ts'

/** A custom scalar (GraphQL 3.5). */
export interface GraphqlScalar {
  readonly name: string
  readonly description: string
  readonly specifiedByURL: string
  /** For scalars that are written as strings. Omitted: any JSON value is valid. */
  readonly text?: {
    /** Undefined for an invalid string. */
    canonical(text: string): string | undefined
    readonly example: string
  }
}

/** The GraphQL type of a field's values. */
export interface GraphqlLeaf {
  readonly type: 'ID' | 'Int' | 'Float' | 'String' | 'Boolean' | GraphqlScalar | GraphqlEnum
  /** The form in responses, if it is not that of REST: an id as a string, a choice by its enum name. */
  readonly form?: 'string' | 'name'
  /** An input value as the JSON value that REST takes. Omitted: they are the same. */
  fromInput?(value: unknown): JsonValue
  /** The object type of values in answers; `type` is then that of inputs. */
  readonly object?: GraphqlObject
}

/** The members of a JSON object, none of which is null. */
export interface GraphqlObject {
  readonly name: string
  readonly description: string
  readonly fields: Readonly<Record<string, 'String' | 'Float'>>
}

/** Each field gets an enum type of its own. */
export interface GraphqlEnum {
  /** The name of each value within the schema (GraphQL 3.9), and the value. */
  readonly values: readonly (readonly [name: string, value: string])[]
}

/** Which files a field accepts, and how they are served. */
export interface FileBounds {
  readonly maxBytes: number
  /** Media types; one may end in `/*`. Undefined: all. */
  readonly types: readonly string[] | undefined
  /** Whether caches may keep the content for ever: what was once read by this address cannot be revoked. */
  readonly isPublic: boolean
}

/** The JSON types of values that a form can ask for. */
export const formTypes: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean'])

export interface FieldType {
  /** The builder's name, e.g. `integer`. */
  readonly name: string
  readonly encoding: Encoding
  readonly graphql: GraphqlLeaf
  readonly operators: readonly FilterOperator[]
  /** Whether lists may be sorted by it. */
  readonly sortable: boolean
  /** Whether aggregates offer its sum and average. Its encoding supplies the SQL of the sum. */
  readonly summable?: true
  /** The parts of its values by which aggregates group. */
  readonly dateGroups?: readonly DateGroup[]
  /** The approximate number of distinct values, for cost estimates. Infinity: almost every item has its own value. */
  readonly distinctValues?: number
  /** Whether values are JSON documents, which may be very large. A PATCH merges objects (RFC 7396). */
  readonly isDocument?: true
  /** Its values are files: which it accepts. */
  readonly file?: FileBounds
  /** The schema of a value that is not null. Bodies are validated by it. */
  readonly schema: JsonSchema
  /** The schema of a value in an answer, if it differs. */
  readonly answerSchema?: JsonSchema
  /**
   * The canonical form of a valid value, e.g. a datetime in UTC.
   * Throws a `RangeError` with a message for the client if the value has none.
   */
  canonical(value: JsonValue): JsonValue
  /** The schema of values in filters. It allows more than `schema` where bounds or parts of values make sense. */
  readonly filterSchema: JsonSchema
  /** The canonical value of a query parameter's text. Undefined if the text is invalid. */
  fromText(text: string): JsonValue | undefined
  /** A part of a value, as the stored values contain it. Omitted: as it is written. */
  fromPart?(text: string): string
}
