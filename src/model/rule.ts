/** Access rules as data. Built by `access.ts`; decided only in `plan/guard.ts`. */

export type Scalar = string | number | boolean | null

export type Comparison = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in'

/** What a field is compared with: a literal, or the id of the user who asks. */
export type RuleOperand =
  | { readonly kind: 'literal'; readonly value: Scalar | readonly Scalar[] }
  | { readonly kind: 'userId' }

/**
 * Two-valued: a comparison with a missing value is false, and its `not` is true.
 * `eq null` and `ne null` ask whether the field has a value.
 * A comparison with the user's id is false when nobody is signed in.
 */
export type Rule =
  | { readonly kind: 'anyone' }
  | { readonly kind: 'nobody' }
  | { readonly kind: 'signedIn' }
  | { readonly kind: 'role'; readonly roles: readonly string[] }
  | { readonly kind: 'scope'; readonly scope: string }
  | {
      readonly kind: 'compare'
      readonly field: string
      readonly comparison: Comparison
      readonly operand: RuleOperand
    }
  /** At least one related row fulfils the rule; for a to-one relation, the related row does. */
  | { readonly kind: 'related'; readonly relation: string; readonly rule: Rule }
  | { readonly kind: 'and'; readonly rules: readonly Rule[] }
  | { readonly kind: 'or'; readonly rules: readonly Rule[] }
  | { readonly kind: 'not'; readonly rule: Rule }
