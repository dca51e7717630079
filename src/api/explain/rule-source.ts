/** Access rules as in a model file, for its authors. */
import { callerRuleKind } from '../../model/rule/caller-rules.ts'
import type { Rule, RuleOperand } from '../../model/rule/rule.ts'

function operandSource(operand: RuleOperand): string {
  switch (operand.kind) {
    case 'literal':
      return JSON.stringify(operand.value)
    case 'userId':
      return "caller('id')"
    case 'now':
      return operand.shiftMs === 0
        ? 'now'
        : `now${operand.shiftMs < 0 ? ' - ' : ' + '}${Math.abs(operand.shiftMs) / 1000} s`
    case 'field':
      return `field('${operand.field}')`
    case 'caller':
      return `caller('${operand.field}')`
    case 'claim':
      return `claim('${operand.claim}')`
  }
}

function joined(rules: readonly Rule[], word: string): string {
  return rules
    .map(rule => (rule.kind === 'and' || rule.kind === 'or' ? `(${ruleSource(rule)})` : ruleSource(rule)))
    .join(` ${word} `)
}

/** E.g. `owner('author_id') or role('admin')`. */
export function ruleSource(rule: Rule): string {
  switch (rule.kind) {
    case 'compare':
      if (rule.operand.kind === 'userId' && rule.comparison === 'eq') return `owner('${rule.field}')`
      return `field('${rule.field}').${rule.comparison}(${operandSource(rule.operand)})`
    case 'related':
      return `related('${rule.relation}', ${ruleSource(rule.rule)})`
    case 'and':
    case 'or':
      return joined(rule.rules, rule.kind)
    case 'not':
      return `not(${ruleSource(rule.rule)})`
    default:
      return callerRuleKind(rule).source(rule)
  }
}
