/** Access rules as texts: in plain words, for the readers of the OpenAPI document, and as in a model file, for its authors. */
import type { Limit } from '../model.ts'
import { callerRuleKind } from './caller-rules.ts'
import {
  appIdPath,
  type Rule,
  type RuleLeaf,
  type RuleOfKind,
  type RuleOperand,
  type Scalar,
} from './rule.ts'

const comparisons = {
  eq: 'is',
  ne: 'is not',
  gt: 'is greater than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  in: 'is one of',
} as const

function operandInWords({ operand }: RuleOfKind<'compare'>): string {
  switch (operand.kind) {
    case 'userId':
      return 'the caller'
    case 'appId':
      return "the caller's app"
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

function operandSource(operand: RuleOperand): string {
  switch (operand.kind) {
    case 'literal':
      return JSON.stringify(operand.value)
    case 'userId':
      return "caller('id')"
    case 'appId':
      return `caller('${appIdPath}')`
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

interface Style {
  readonly and: string
  readonly or: string
  readonly not: string
  readonly leaf: (leaf: RuleLeaf) => string
}

function textOf(rule: Rule, style: Style): string {
  const nested = (part: Rule) => textOf(part, style)
  switch (rule.kind) {
    case 'and':
    case 'or': {
      const isList = ({ kind }: Rule) => kind === 'and' || kind === 'or'
      return rule.parts
        .map(part => (isList(part) ? `(${nested(part)})` : nested(part)))
        .join(style[rule.kind])
    }
    case 'not':
      return `${style.not}(${nested(rule.part)})`
    default:
      return style.leaf(rule)
  }
}

const words: Style = {
  and: ', and ',
  or: ', or ',
  not: 'not ',
  leaf(leaf) {
    if (leaf.kind === 'related') return `a related \`${leaf.relation}\` where ${inWords(leaf.rule)}`
    if (leaf.kind !== 'compare') return callerRuleKind(leaf).words(leaf)
    return `\`${leaf.field}\` ${comparisons[leaf.comparison]} ${operandInWords(leaf)}`
  },
}

const source: Style = {
  and: ' and ',
  or: ' or ',
  not: 'not',
  leaf(leaf) {
    if (leaf.kind === 'related') return `related('${leaf.relation}', ${ruleSource(leaf.rule)})`
    if (leaf.kind !== 'compare') return callerRuleKind(leaf).source(leaf)
    const { field, comparison, operand } = leaf
    if (operand.kind === 'userId' && comparison === 'eq') return `owner('${field}')`
    return `field('${field}').${comparison}(${operandSource(operand)})`
  },
}

/** A rule as a phrase, e.g. `author_id is the caller, or role admin`. */
export function inWords(rule: Rule): string {
  return textOf(rule, words)
}

/** A rule as in a model file, e.g. `owner('author_id') or role('admin')`. */
export function ruleSource(rule: Rule): string {
  return textOf(rule, source)
}

/** What the limits of a collection refuse, in a sentence; undefined if it has none. */
export function limitsInWords(limits: readonly Limit[]): string | undefined {
  if (limits.length === 0) return undefined
  const refused = limits.map(limit => {
    const per = limit.per && ` with the same \`${limit.per.name}\``
    const where = limit.where.kind === 'anyone' ? '' : `, where ${inWords(limit.where)}`
    return `${excessInWords(limit)}${per ?? ''}${where}`
  })
  return `Refused with 409: ${refused.join('; ')}.`
}

function excessInWords(limit: Limit): string {
  if (limit.kind === 'overlap') return `overlaps of \`${limit.start.name}\` to \`${limit.end.name}\``
  return `more items than ${typeof limit.count === 'number' ? limit.count : `\`${limit.count.path}\``}`
}
