/** Builders of access rules. A rule is data (see `rule.ts`); only the guard evaluates it. */
import { type Marker, markerOf, shiftOf } from './fields/marker.ts'
import { appIdPath, type Comparison, type Rule, type RuleOperand, type Scalar } from './rule/rule.ts'
import type {
  AccessRule,
  AnyCaller,
  CallerOperand,
  ClaimOperand,
  Comparable,
  CompareNeeds,
  FieldRules,
  RelationNeeds,
} from './types/rule.ts'

export type { AccessRule, CallerOperand, ClaimOperand, FieldRules }

function rulesIn(rules: readonly AccessRule[]): readonly Rule[] {
  return rules.map(rule => rule?.rule)
}

// biome-ignore lint/suspicious/noExplicitAny: the functions below say for which rows and callers their rules hold.
function chain(rule: Rule): AccessRule<any, any> {
  const accessRule: Pick<AccessRule, 'rule' | 'and' | 'or'> = {
    rule: Object.freeze(rule),
    and: (...others: readonly AccessRule[]) => chain({ kind: 'and', parts: [rule, ...rulesIn(others)] }),
    or: (...others: readonly AccessRule[]) => chain({ kind: 'or', parts: [rule, ...rulesIn(others)] }),
  }
  return Object.freeze(accessRule) as AccessRule
}

/** Everyone, signed in or not. */
export const anyone: AccessRule<unknown> = chain({ kind: 'anyone' })

/** No one; not even an administrator. */
export const nobody: AccessRule<unknown, 'user'> = chain({ kind: 'nobody' })

/** Every signed-in user. */
export const signedIn: AccessRule<unknown, 'user'> = chain({ kind: 'signedIn' })

/**
 * Callers who use no third-party app, but a session, an API key, a token of a trusted issuer, or an app that is
 * `first_party`. `role('admin').and(firstParty)`: administrators themselves, but no third-party app that acts for one.
 */
export const firstParty: AccessRule<unknown> = chain({ kind: 'firstParty' })

/** Users with one of these roles. */
export function role(...roles: readonly string[]): AccessRule<unknown, 'user'> {
  return chain({ kind: 'role', roles })
}

/** Credentials that have this scope, e.g. `scope('write:post')`. A credential that is not limited to scopes has all. */
export function scope(name: string): AccessRule<unknown> {
  return chain({ kind: 'scope', scope: name })
}

/** The user whose id is in the field. On `users` itself: `owner('id')`. */
export function owner<const Field extends string>(
  fieldName: Field,
): AccessRule<CompareNeeds<Field, 'eq', Marker<'currentUser'>>, 'user'> {
  return compare(fieldName, 'eq', { kind: 'userId' })
}

/** The rule holds for the related row, or for at least one row of a to-many relation. */
export function related<const Relation extends string, Needs, Callers extends AnyCaller>(
  relation: Relation,
  rule: AccessRule<Needs, Callers>,
): AccessRule<RelationNeeds<Relation, Needs>, Callers> {
  return chain({ kind: 'related', relation, rule: rule?.rule })
}

/** The rule does not hold. */
export function not<Needs>(rule: AccessRule<Needs>): AccessRule<Needs> {
  return chain({ kind: 'not', part: rule?.rule })
}

/**
 * A field of the caller's own item of `users`: `caller('email')`. An address has a value only while it is confirmed. Or
 * `caller('app.id')`: the id of the caller's app in `oauth_apps`.
 */
export function caller<const Field extends string>(fieldName: Field): CallerOperand<Field> {
  return Object.freeze({ operand: 'caller', field: fieldName })
}

/** A claim of the caller's token, if a trusted issuer issued it: `claim('org_id')`. */
export function claim(name: string): ClaimOperand {
  return Object.freeze({ operand: 'claim', claim: name })
}

function operandOf(value: Comparable | readonly Scalar[]): RuleOperand {
  if (markerOf(value) === 'currentUser') return { kind: 'userId' }
  const shiftMs = shiftOf(value)
  if (shiftMs !== undefined) return { kind: 'now', shiftMs }
  if (typeof value === 'object' && value !== null) {
    if ('operand' in value) {
      if (value.operand === 'claim') return { kind: 'claim', claim: value.claim }
      return value.field === appIdPath ? { kind: 'appId' } : { kind: 'caller', field: value.field }
    }
    if ('field' in value) return { kind: 'field', field: value.field }
  }
  return { kind: 'literal', value: value as Scalar | readonly Scalar[] }
}

function compare(name: string, comparison: Comparison, operand: RuleOperand) {
  return chain({ kind: 'compare', field: name, comparison, operand })
}

/** Starts a comparison: `field('status').eq('published')`, `field('task.project_id').eq(field('project_id'))`. */
export function field<const Path extends string>(name: Path): FieldRules<Path> {
  const compareBy = (comparison: Comparison) => (value: Comparable | readonly Scalar[]) =>
    compare(name, comparison, operandOf(value))
  return {
    field: name,
    eq: compareBy('eq'),
    ne: compareBy('ne'),
    gt: compareBy('gt'),
    gte: compareBy('gte'),
    lt: compareBy('lt'),
    lte: compareBy('lte'),
    in: compareBy('in'),
  }
}
