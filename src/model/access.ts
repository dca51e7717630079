/** Builders of access rules. A rule is data (see `rule.ts`); only the guard evaluates it. */
import { type Marker, markerOf, type ShiftedNow, shiftOf } from './fields/marker.ts'
import type { Comparison, Rule, RuleOperand, Scalar } from './rule.ts'

/** A rule that can be chained: `owner('author_id').or(role('admin'))`. */
export interface AccessRule {
  readonly rule: Rule
  /** This rule and all the others must hold. */
  and(...others: readonly AccessRule[]): AccessRule
  /** This rule or one of the others must hold. */
  or(...others: readonly AccessRule[]): AccessRule
}

function rulesIn(rules: readonly AccessRule[]): readonly Rule[] {
  return rules.map(one => one?.rule)
}

function chain(rule: Rule): AccessRule {
  return Object.freeze({
    rule: Object.freeze(rule),
    and: (...others: readonly AccessRule[]) => chain({ kind: 'and', rules: [rule, ...rulesIn(others)] }),
    or: (...others: readonly AccessRule[]) => chain({ kind: 'or', rules: [rule, ...rulesIn(others)] }),
  })
}

/** Everyone, signed in or not. */
export const anyone: AccessRule = chain({ kind: 'anyone' })

/** No one; not even an administrator. */
export const nobody: AccessRule = chain({ kind: 'nobody' })

/** Every signed-in user. */
export const signedIn: AccessRule = chain({ kind: 'signedIn' })

/** Users with one of these roles. */
export function role(...roles: readonly string[]): AccessRule {
  return chain({ kind: 'role', roles })
}

/** Credentials that have this scope, e.g. `scope('write:post')`. A session that is not limited to scopes has all. */
export function scope(name: string): AccessRule {
  return chain({ kind: 'scope', scope: name })
}

/** The user whose id is in the field. On `users` itself: `owner('id')`. */
export function owner(fieldName: string): AccessRule {
  return compare(fieldName, 'eq', { kind: 'userId' })
}

/** The rule holds for the related row, or for at least one row of a to-many relation. */
export function related(relation: string, rule: AccessRule): AccessRule {
  return chain({ kind: 'related', relation, rule: rule?.rule })
}

/** The rule does not hold. */
export function not(rule: AccessRule): AccessRule {
  return chain({ kind: 'not', rule: rule?.rule })
}

/** What the caller's own item of `users` has in a field: `caller('email')`. An address only when it is confirmed. */
export interface CallerOperand {
  readonly operand: 'caller'
  readonly field: string
}

export function caller(fieldName: string): CallerOperand {
  return Object.freeze({ operand: 'caller', field: fieldName })
}

/** A claim of the caller's token, where a trusted issuer has made it: `claim('org_id')`. */
export interface ClaimOperand {
  readonly operand: 'claim'
  readonly claim: string
}

export function claim(name: string): ClaimOperand {
  return Object.freeze({ operand: 'claim', claim: name })
}

/** The right side of an equation. */
type Comparable = Ordered | Marker<'currentUser'> | CallerOperand | ClaimOperand

/** The right side of a comparison by size. */
type Ordered = Scalar | Marker<'now'> | ShiftedNow | FieldRules

/** A field, and its comparisons. A comparison with a missing value is false. */
export interface FieldRules {
  /** The field's name, or a path along to-one relations: `task.project.organization_id`. */
  readonly field: string
  eq(value: Comparable): AccessRule
  ne(value: Comparable): AccessRule
  gt(value: Ordered): AccessRule
  gte(value: Ordered): AccessRule
  lt(value: Ordered): AccessRule
  lte(value: Ordered): AccessRule
  in(values: readonly Scalar[]): AccessRule
}

function operandOf(value: Comparable | readonly Scalar[]): RuleOperand {
  if (markerOf(value) === 'currentUser') return { kind: 'userId' }
  const shiftMs = shiftOf(value)
  if (shiftMs !== undefined) return { kind: 'now', shiftMs }
  if (typeof value === 'object' && value !== null) {
    if ('operand' in value) {
      return value.operand === 'caller'
        ? { kind: 'caller', field: value.field }
        : { kind: 'claim', claim: value.claim }
    }
    if ('field' in value) return { kind: 'field', field: value.field }
  }
  return { kind: 'literal', value: value as Scalar | readonly Scalar[] }
}

function compare(name: string, comparison: Comparison, operand: RuleOperand): AccessRule {
  return chain({ kind: 'compare', field: name, comparison, operand })
}

/** Starts a comparison: `field('status').eq('published')`, `field('task.project_id').eq(field('project_id'))`. */
export function field(name: string): FieldRules {
  const comparing = (comparison: Comparison) => (value: Comparable | readonly Scalar[]) =>
    compare(name, comparison, operandOf(value))
  return {
    field: name,
    eq: comparing('eq'),
    ne: comparing('ne'),
    gt: comparing('gt'),
    gte: comparing('gte'),
    lt: comparing('lt'),
    lte: comparing('lte'),
    in: comparing('in'),
  }
}
