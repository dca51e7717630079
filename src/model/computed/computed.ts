/** Computed fields: read-only values that the database computes from a row and the rows that it relates to. */

import type { FieldType } from '../fields/field-type.ts'
import type { Rule, Scalar } from '../rule/rule.ts'
import type { AccessRule } from '../types/rule.ts'

export type AggregateFunction = 'count' | 'sum' | 'min' | 'max' | 'avg'

export type DatePart = 'year' | 'month' | 'day' | 'hour' | 'weekday' | 'date'

/** An expression over a row of its collection. */
export type Expression =
  /** A field of the row, or along to-one relations: `project.organization_id`. */
  | { readonly kind: 'field'; readonly field: string }
  | { readonly kind: 'literal'; readonly value: Scalar }
  /** Over the related rows of a to-many relation that the caller may read, if the caller may also read the field. */
  | {
      readonly kind: 'aggregate'
      readonly function: AggregateFunction
      readonly relation: string
      /** Undefined for `count`. */
      readonly field: string | undefined
      readonly where: Rule | undefined
      /** Over all related rows, hidden ones too. */
      readonly asSystem: boolean
      /** Kept in a column of the item by the writes of the related ones. */
      readonly stored: boolean
    }
  /** A field of the first of these rows. */
  | {
      readonly kind: 'first'
      readonly relation: string
      readonly field: string
      /** As in `?sort=`. */
      readonly sort: readonly string[]
      readonly where: Rule | undefined
      /** Refused: it would select a row. */
      readonly asSystem: boolean
    }
  | {
      readonly kind: 'arithmetic'
      readonly operator: '+' | '-' | '*' | '/'
      readonly left: Expression
      readonly right: Expression
    }
  | { readonly kind: 'concat'; readonly parts: readonly Expression[] }
  | { readonly kind: 'coalesce'; readonly parts: readonly Expression[] }
  | {
      readonly kind: 'when'
      readonly rule: Rule
      readonly value: Expression
      readonly otherwise: Expression
    }
  | { readonly kind: 'datePart'; readonly part: DatePart; readonly of: Expression }
  | { readonly kind: 'round'; readonly of: Expression }

/** A checked expression: every part has a type, and each rule is checked against its collection. */
export type CheckedExpression = CheckedPart & {
  readonly type: FieldType
  /** The value may be null. */
  readonly optional: boolean
}

export type CheckedPart =
  /** `path`: the to-one relations that lead to the item that has the field. */
  | { readonly kind: 'field'; readonly path: readonly string[]; readonly field: string }
  | { readonly kind: 'literal'; readonly value: Scalar }
  | {
      readonly kind: 'aggregate'
      readonly function: AggregateFunction
      readonly relation: string
      readonly field: string | undefined
      readonly where: Rule
      /** Over all related rows, hidden ones too: the value is the same for every caller. */
      readonly asSystem: boolean
      /** Kept in a column of the item by the writes of the related ones. */
      readonly stored: boolean
    }
  | {
      readonly kind: 'first'
      readonly relation: string
      readonly field: string
      readonly sort: readonly { readonly field: string; readonly descending: boolean }[]
      readonly where: Rule
    }
  | {
      readonly kind: 'arithmetic'
      readonly operator: '+' | '-' | '*' | '/'
      readonly left: CheckedExpression
      readonly right: CheckedExpression
    }
  | { readonly kind: 'concat' | 'coalesce'; readonly parts: readonly CheckedExpression[] }
  | {
      readonly kind: 'when'
      readonly rule: Rule
      readonly value: CheckedExpression
      readonly otherwise: CheckedExpression
    }
  | { readonly kind: 'datePart'; readonly part: DatePart; readonly of: CheckedExpression }
  | { readonly kind: 'round'; readonly of: CheckedExpression }

declare const valueType: unique symbol
declare const needsType: unique symbol

export interface ComputedOptions {
  readonly description?: string
  /** A rule in addition to the collection's. Where it fails, the field is null. */
  readonly access?: { readonly read?: AccessRule }
}

/** A declared computed field. `Value`: the type of its value. `Needs`: the fields and relations that the row must have. */
// biome-ignore lint/suspicious/noExplicitAny: an expression without known needs fits everywhere.
export interface ComputedDeclaration<out Value = unknown, in Needs = any> {
  readonly kind: 'computed'
  readonly expression: Expression
  readonly options: ComputedOptions
  readonly [valueType]?: Value
  readonly [needsType]?: (row: Needs) => void
}
