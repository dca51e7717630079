/** Access rules in plain words, for the readers of the OpenAPI document. */
import { callerRuleKind } from '../../../model/rule/caller-rules.ts'
import type { Rule, Scalar } from '../../../model/rule/rule.ts'

const comparisons = {
  eq: 'is',
  ne: 'is not',
  gt: 'is greater than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  in: 'is one of',
} as const

function operandInWords({ operand }: Rule & { kind: 'compare' }): string {
  switch (operand.kind) {
    case 'userId':
      return 'the caller'
    case 'now':
      return momentInWords(operand.shiftMs)
    case 'field':
      return `\`${operand.field}\``
    case 'caller':
      return `the caller's ${operand.field === 'email' ? 'confirmed ' : ''}\`${operand.field}\``
    case 'claim':
      return `the claim \`${operand.claim}\` of the caller's token`
    case 'literal':
      return valueInWords(operand.value)
  }
}

const unitsMs = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
  ['millisecond', 1],
] as const

/** E.g. `now minus 1 day 2 hours`. */
function momentInWords(shiftMs: number): string {
  if (shiftMs === 0) return 'now'
  let remainingMs = Math.abs(shiftMs)
  const parts = unitsMs.flatMap(([unit, ms]) => {
    const count = Math.floor(remainingMs / ms)
    remainingMs -= count * ms
    return count === 0 ? [] : [`${count} ${unit}${count === 1 ? '' : 's'}`]
  })
  return `now ${shiftMs < 0 ? 'minus' : 'plus'} ${parts.join(' ')}`
}

function valueInWords(value: Scalar | readonly Scalar[]): string {
  return Array.isArray(value) ? value.map(member => JSON.stringify(member)).join(', ') : JSON.stringify(value)
}

function joined(rules: readonly Rule[], word: string): string {
  return rules
    .map(rule => (rule.kind === 'and' || rule.kind === 'or' ? `(${inWords(rule)})` : inWords(rule)))
    .join(word)
}

/** A rule as a phrase, e.g. `author_id is the caller, or role admin`. */
export function inWords(rule: Rule): string {
  switch (rule.kind) {
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
    default:
      return callerRuleKind(rule).words(rule)
  }
}
