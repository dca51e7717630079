/** Checks access rules: names must exist, and compared values must have the field's type. */

import { isObject } from '../../base/json.ts'
import { leavesOf } from '../../base/predicate.ts'
import { isAccessRule } from '../fields/declared.ts'
import type { JsonValue } from '../fields/type.ts'
import { canonicalOf } from '../json-schema/faults.ts'
import { type CallerRule, callerRuleKind, isCallerRule } from '../rule/caller-rules.ts'
import {
  isOfCaller,
  nobodyRule,
  type Rule,
  type RuleOfKind,
  type RuleOperand,
  type Scalar,
} from '../rule/rule.ts'
import { didYouMean } from '../suggest.ts'
import { isRefused, operandFault } from './compared.ts'
import type { Faults } from './faults.ts'
import type { Outline, Outlines } from './outline.ts'
import { isRefusedField, isRefusedRelation } from './refused-relations.ts'
import { maxRelations, resolveFieldPath } from './rule-paths.ts'

/** The maximum nesting of `and`, `or` and `not`. */
const maxDepth = 50

interface RuleContext {
  readonly outlines: Outlines
  readonly scopes: ReadonlyMap<string, string>
  readonly place: string
  readonly faults: Faults
  /** The claims in rules. The check adds to it. */
  readonly claims: Set<string>
  readonly reported: ReportedFaults
  readonly relations: number
  readonly depth: number
  /** The part that is being checked, and the collection that it applies to. */
  readonly part?: { readonly rule: Rule; readonly collection: string }
}

/** The faults of each part. Each fault of a part that several rules share is reported once. */
type ReportedFaults = WeakMap<Rule, Set<string>>

/**
 * Adds a fault, and returns a rule in place of the invalid one. `message` undefined: the cause is reported elsewhere.
 */
function refuse(context: RuleContext, message: string | undefined): Rule {
  if (message !== undefined && isNew(context, message)) context.faults.add(context.place, message)
  return nobodyRule
}

/** Records a fault of the current part: once for each collection if it concerns names, which differ between collections. */
function isNew({ part, reported }: RuleContext, message: string): boolean {
  if (!isObject(part?.rule)) return true
  const { rule, collection } = part
  const scope = rule.kind === 'compare' || rule.kind === 'related' ? collection : ''
  const key = `${scope}: ${message}`
  const keys = reported.get(rule) ?? new Set()
  if (keys.has(key)) return false
  reported.set(rule, keys.add(key))
  return true
}

function callerRule(rule: CallerRule, context: RuleContext): Rule {
  const fault = callerRuleKind(rule).fault?.(rule, context.scopes)
  return fault === undefined ? rule : refuse(context, fault)
}

function literalOf(
  value: Scalar,
  outline: Outline,
  name: string,
): { readonly value: Scalar } | { readonly fault: string } {
  const declared = outline.fields.get(name)
  // The schema of a field with faults may not compile.
  if (!declared || declared.faults.length > 0) return { value }
  const canonical = canonicalOf(declared.type, value as JsonValue)
  return 'fault' in canonical ? canonical : { value: canonical.value as Scalar }
}

function literalRule(
  rule: RuleOfKind<'compare'>,
  value: Scalar | readonly Scalar[],
  outline: Outline,
  field: string,
  context: RuleContext,
): Rule {
  const { field: name, comparison } = rule
  if (value === undefined) return refuse(context, `\`${name}\` is compared with nothing. Write a value.`)
  if (value === null) {
    if (comparison === 'eq' || comparison === 'ne') return rule
    return refuse(context, `\`${comparison}\` cannot compare with null. Write \`eq(null)\` or \`ne(null)\`.`)
  }
  if ((comparison === 'in') !== Array.isArray(value) || (Array.isArray(value) && value.length === 0)) {
    return refuse(
      context,
      `\`${name}\`: write one value, or for \`in\` a list of at least one: \`in(['a', 'b'])\`.`,
    )
  }
  const literals = [value].flat().map(literal => literalOf(literal, outline, field))
  const invalid = literals.find(literal => 'fault' in literal)
  if (invalid && 'fault' in invalid)
    return refuse(context, `\`${name}\` is compared with a value that it cannot have. ${invalid.fault}`)
  const values = literals.flatMap(literal => ('value' in literal ? [literal.value] : []))
  const operand: RuleOperand = { kind: 'literal', value: comparison === 'in' ? values : (values[0] ?? null) }
  return { ...rule, operand }
}

function userRule(rule: RuleOfKind<'compare'>, outline: Outline, name: string, context: RuleContext): Rule {
  const target = outline.references.get(name)?.target
  if (isRefusedField(outline, name, context.outlines)) return nobodyRule
  if (target !== 'users' && !(outline.name === 'users' && name === 'id')) {
    const write =
      outline.name === 'users' ? "Write `owner('id')`." : "Name a field that is `relation('users')`."
    return refuse(context, `\`${outline.name}.${name}\` holds no user. ${write}`)
  }
  if (rule.comparison === 'eq' || rule.comparison === 'ne') return rule
  return refuse(
    context,
    `\`${rule.comparison}\` cannot compare with \`currentUser\`. Write \`eq\` or \`ne\`.`,
  )
}

function compareRule(rule: RuleOfKind<'compare'>, outline: Outline, context: RuleContext): Rule {
  const { outlines, relations } = context
  const left = resolveFieldPath(rule.field, outline, outlines, relations)
  if (isRefused(left)) return refuse(context, left.fault)
  const { name, declared } = left
  const { operand } = rule
  if (operand.kind === 'userId') return userRule(rule, left.outline, name, context)
  const isNullTest = operand.kind === 'literal' && operand.value === null
  if (!isNullTest && !declared.type.operators.includes(rule.comparison)) {
    const type = declared.type.name
    return refuse(context, `\`${rule.field}\` is a ${type} field: \`${rule.comparison}\` cannot compare it.`)
  }
  if (operand.kind === 'literal') return literalRule(rule, operand.value, left.outline, name, context)
  const fault = operandFault({ rule, left, outline, outlines, relations })
  if (fault !== undefined) return refuse(context, fault)
  if (operand.kind === 'claim') context.claims.add(operand.claim)
  return rule
}

function relatedRule(rule: RuleOfKind<'related'>, outline: Outline, context: RuleContext): Rule {
  const relation = outline.relations.get(rule.relation)
  if (!relation) {
    if (isRefusedRelation(outline, rule.relation, context.outlines)) return nobodyRule
    const suggestion = didYouMean(String(rule.relation), outline.relations.keys())
    return refuse(context, `\`${outline.name}\` has no relation \`${rule.relation}\`.${suggestion}`)
  }
  const relations = context.relations + 1
  if (relations > maxRelations) {
    return refuse(context, `The rule goes through more than ${maxRelations} relations. Shorten the path.`)
  }
  const target = context.outlines.get(relation.target)
  return target ? { ...rule, rule: check(rule.rule, target, { ...context, relations }) } : nobodyRule
}

function check(rule: Rule, outline: Outline, outer: RuleContext): Rule {
  const context = { ...outer, depth: outer.depth + 1, part: { rule, collection: outline.name } }
  if (context.depth > maxDepth)
    return refuse(context, `The rule is nested more than ${maxDepth} deep. Simplify it.`)
  if (isObject(rule) && isCallerRule(rule)) return callerRule(rule, context)
  switch (rule?.kind) {
    case 'compare':
      return compareRule(rule, outline, context)
    case 'related':
      return relatedRule(rule, outline, context)
    case 'and':
    case 'or':
      return { ...rule, parts: rule.parts.map(part => check(part, outline, context)) }
    case 'not':
      return { kind: 'not', part: check(rule.part, outline, context) }
    default:
      return refuse(context, "A part of it is not a rule. Write e.g. `owner('author_id').or(role('admin'))`.")
  }
}

export type RuleCheck = (declared: unknown, outline: Outline, place: string, otherwise: Rule) => Rule

/** The check returns the rule with canonical literals, and adds its claims to `claims`. */
export function ruleCheck(
  outlines: Outlines,
  scopes: ReadonlyMap<string, string>,
  faults: Faults,
  claims: Set<string>,
): RuleCheck {
  const reported: ReportedFaults = new WeakMap()
  return (declared, outline, place, otherwise) => {
    if (declared === undefined) return otherwise
    const context = { outlines, scopes, place, faults, claims, reported, relations: 0, depth: 0 }
    if (!isAccessRule(declared)) return refuse(context, "This is not a rule. Write e.g. `role('admin')`.")
    return check(declared.rule, outline, context)
  }
}

/** Whether the rule depends on the row, and not on the caller alone. */
export function dependsOnRow(rule: Rule): boolean {
  return leavesOf(rule).some(leaf => !isCallerRule(leaf))
}

/** Whether the rule can hold for one caller and not for another. */
export function dependsOnCaller(rule: Rule): boolean {
  return leavesOf(rule).some(leaf => {
    if (leaf.kind === 'related') return dependsOnCaller(leaf.rule)
    if (leaf.kind === 'compare') return isOfCaller(leaf.operand)
    return leaf.kind !== 'anyone' && leaf.kind !== 'nobody'
  })
}

/** Whether only a write of the row itself can change the result of the rule. */
export function dependsOnRowAlone(rule: Rule): boolean {
  return leavesOf(rule).every(leaf => {
    if (leaf.kind === 'compare') return leaf.operand.kind === 'literal' && !leaf.field.includes('.')
    return leaf.kind === 'anyone' || leaf.kind === 'nobody'
  })
}
