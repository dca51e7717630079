/** Access rules in plain words, for the readers of the OpenAPI document. */
import type { Rule } from '../../model/rule.ts'

const comparisons = {
  eq: 'is',
  ne: 'is not',
  gt: 'is greater than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  in: 'is one of',
} as const

function operandInWords(rule: Rule & { kind: 'compare' }): string {
  if (rule.operand.kind === 'userId') return 'the caller'
  if (rule.operand.kind !== 'literal') return rule.operand.kind
  const { value } = rule.operand
  return Array.isArray(value) ? value.map(each => JSON.stringify(each)).join(', ') : JSON.stringify(value)
}

function joined(rules: readonly Rule[], word: string): string {
  return rules
    .map(rule => (rule.kind === 'and' || rule.kind === 'or' ? `(${inWords(rule)})` : inWords(rule)))
    .join(word)
}

/** A rule as a phrase, e.g. `author_id is the caller, or role admin`. */
export function inWords(rule: Rule): string {
  switch (rule.kind) {
    case 'anyone':
      return 'anyone'
    case 'nobody':
      return 'nobody'
    case 'signedIn':
      return 'anyone signed in'
    case 'role':
      return `role ${rule.roles.join(' or ')}`
    case 'scope':
      return `scope ${rule.scope}`
    case 'compare':
      return `\`${rule.field}\` ${comparisons[rule.comparison]} ${operandInWords(rule)}`
    case 'related':
      return `a related \`${rule.relation}\` where ${inWords(rule.rule)}`
    case 'and':
      return joined(rule.rules, ', and ')
    case 'or':
      return joined(rule.rules, ', or ')
    case 'not':
      return `not (${inWords(rule.rule)})`
  }
}
