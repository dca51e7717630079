/** Access rules as data. `access.ts` builds them; only `engine/plan/guard/guard.ts` evaluates them. */
import type { Predicate } from '../../base/predicate.ts'
import type { Encoding } from '../fields/encoding.ts'
import type { CallerRule } from './caller-rules.ts'

export type Scalar = string | number | boolean | null

export type Comparison = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in'

/** The right side of a comparison. */
export type RuleOperand =
  | { readonly kind: 'literal'; readonly value: Scalar | readonly Scalar[] }
  /** The id of the caller. */
  | { readonly kind: 'userId' }
  /** The id of the caller's app. */
  | { readonly kind: 'appId' }
  /** The time of the request, shifted by `shiftMs`. */
  | { readonly kind: 'now'; readonly shiftMs: number }
  /** Another field, of the same row or along to-one relations: `label.organization_id`. */
  | { readonly kind: 'field'; readonly field: string }
  /** A field of the caller's own item of `users`. An address has a value only while it is confirmed. */
  | { readonly kind: 'caller'; readonly field: string }
  /** A claim of the caller's token, from a trusted issuer. */
  | { readonly kind: 'claim'; readonly claim: string }

/** Whether the value differs between callers. */
export function isOfCaller({ kind }: { readonly kind: string }): boolean {
  return kind === 'userId' || kind === 'appId' || kind === 'caller' || kind === 'claim'
}

/** `caller('app.id')` in a model file. */
export const appIdPath = 'app.id'

export type RuleLeaf =
  | CallerRule
  | {
      readonly kind: 'compare'
      /** A field of the row, or along to-one relations: `task.project.organization_id`. */
      readonly field: string
      readonly comparison: Comparison
      readonly operand: RuleOperand
    }
  /** The rule holds for the related row, or for at least one row of a to-many relation. */
  | { readonly kind: 'related'; readonly relation: string; readonly rule: Rule }

/**
 * Two-valued: a comparison with a missing value is false, and its `not` is true.
 * `eq null` and `ne null` test whether the field has a value. A comparison with the caller's id, one of the caller's fields
 * or a claim is false if nobody is signed in, and one with the caller's app if there is none.
 */
export type Rule = Predicate<RuleLeaf>

export const anyoneRule: Rule = { kind: 'anyone' }
export const nobodyRule: Rule = { kind: 'nobody' }
/** The rule of collections, actions and queries that declare none. */
export const administratorRule: Rule = { kind: 'role', roles: ['admin'] }

export type RuleOfKind<Kind extends Rule['kind']> = Extract<Rule, { readonly kind: Kind }>

/** The type that a claim must have to be compared with values of an encoding; undefined: not comparable. */
export function claimTypeOf({ name }: Encoding): 'string' | 'number' | 'boolean' | undefined {
  if (name === 'text') return 'string'
  return name === 'number' || name === 'boolean' ? name : undefined
}
