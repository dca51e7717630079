/** Checks the limits of a collection. */

import { isObject } from '../../base/json.ts'
import { leavesOf } from '../../base/predicate.ts'
import { optionsOf } from '../fields/declared.ts'
import type { LimitDeclaration } from '../logic/logic.ts'
import type { CountLimit, Field, Limit, LimitBound, OverlapLimit } from '../model.ts'
import { anyoneRule, type Rule } from '../rule/rule.ts'
import { didYouMean } from '../suggest.ts'
import { isRefused } from './compared.ts'
import type { Faults } from './faults.ts'
import type { Outline, Outlines } from './outline.ts'
import { resolveFieldPath } from './rule-paths.ts'
import { dependsOnRowAlone, type RuleCheck } from './rules.ts'

interface LimitContext {
  readonly outline: Outline
  readonly outlines: Outlines
  readonly fields: ReadonlyMap<string, Field>
  readonly rules: RuleCheck
  readonly faults: Faults
  readonly place: string
}

export function limitsOf(context: Omit<LimitContext, 'place'>): readonly Limit[] {
  const { outline, faults } = context
  const { limits = [] } = outline.options
  const place = `${outline.name}.limits`
  if (!Array.isArray(limits)) {
    faults.add(place, 'Write a list: `limits: [atMost(100)]`.')
    return []
  }
  return limits.flatMap(
    (limit: unknown, index) => limitOf(limit, { ...context, place: `${place}[${index}]` }) ?? [],
  )
}

const maxMessageLength = 1000

function limitOf(declared: unknown, context: LimitContext): Limit | undefined {
  const { outline, fields, rules, faults, place } = context
  if (!isLimit(declared)) {
    faults.add(place, "This is not a limit. Write e.g. `atMost(100, { per: 'project_id' })`.")
    return undefined
  }
  const { options } = declared
  for (const option of Object.keys(options)) {
    if (['per', 'where', 'message'].includes(option)) continue
    const suggestion = didYouMean(option, ['per', 'where', 'message'])
    faults.add(
      place,
      `There is no option \`${option}\`.${suggestion} A limit takes \`per\`, \`where\` and \`message\`.`,
    )
  }
  const per = options.per === undefined ? undefined : groupingField(options.per, context)
  const where = rules(options.where, outline, `${place}.where`, anyoneRule)
  if (!dependsOnRowAlone(where)) faults.add(`${place}.where`, foreignCondition)
  for (const name of fieldsOf(where)) {
    if (fields.get(name)?.internal)
      faults.add(`${place}.where`, `\`${name}\` is internal, so no caller could see why a write is refused.`)
  }
  const limit =
    declared.kind === 'atMost'
      ? countLimit(declared, options.per, context)
      : overlapLimit(declared, per, context)
  return limit && { ...limit, per, where, message: messageOf(options.message, limit, per, context) }
}

function isLimit(value: unknown): value is LimitDeclaration {
  if (!isObject(value) || !isObject(value.options)) return false
  return value.kind === 'atMost' || (value.kind === 'noOverlap' && Array.isArray(value.interval ?? []))
}

type Own<L extends Limit> = Omit<L, 'per' | 'where' | 'message'>

function countLimit(
  { count }: LimitDeclaration,
  per: unknown,
  context: LimitContext,
): Own<CountLimit> | undefined {
  if (isObject(count)) {
    const bound = boundOf(String(count.field), per, context)
    return bound && { kind: 'count', count: bound }
  }
  if (Number.isSafeInteger(count) && Number(count) > 0) return { kind: 'count', count: Number(count) }
  const write = 'Write the limit as a whole number above 0, or as a field of the parent'
  context.faults.add(context.place, `${write}, not \`${String(count)}\`.`)
  return undefined
}

/** The field of the parent that holds the limit. */
function boundOf(
  path: string,
  per: unknown,
  { outline, outlines, faults, place }: LimitContext,
): LimitBound | undefined {
  const bound = resolveFieldPath(path, outline, outlines, 0)
  if (isRefused(bound)) {
    if (bound.fault !== undefined) faults.add(place, bound.fault)
    return undefined
  }
  const { name, declared } = bound
  if (path !== `${outline.references.get(String(per))?.name}.${name}`) {
    const write = "`atMost(field('session.capacity'), { per: 'session_id' })`"
    faults.add(place, `\`${path}\` is no field of the item that \`per\` refers to. Write e.g. ${write}.`)
  } else if (!declared.type.summable || declared.type.encoding.isWhole !== true) {
    const kind = name === 'id' ? 'the id of its item' : `a ${declared.type.name} field`
    faults.add(place, `\`${path}\` is ${kind}. Only an integer field can be a limit.`)
  } else if (optionsOf(declared).internal === true) {
    faults.add(place, `\`${path}\` is internal, so no caller could see why a write is refused.`)
  }
  return { collection: bound.outline.name, field: name, path }
}

function overlapLimit(
  { interval = ['', ''] }: LimitDeclaration,
  per: Field | undefined,
  { outline, fields, faults, place }: LimitContext,
): Own<OverlapLimit> | undefined {
  const [start, end] = interval.map(name => {
    const field = fields.get(String(name))
    if (field !== undefined && !field.internal) return field
    const suggestion = didYouMean(String(name), fields.keys())
    faults.add(place, `\`${outline.name}\` has no field \`${String(name)}\`.${suggestion}`)
    return undefined
  })
  if (start === undefined || end === undefined) return undefined
  const { type } = start
  if (!(type.summable || type.encoding.now) || end.type.encoding !== type.encoding) {
    const types = `${type.name} and ${end.type.name}`
    faults.add(
      place,
      `An interval has two \`datetime\`, \`date\`, \`integer\` or \`number\` fields, not ${types}.`,
    )
  }
  if (new Set([start, end, per]).size < 3) faults.add(place, 'A field is named twice. Name three fields.')
  if (per !== undefined && !per.type.sortable)
    faults.add(`${place}.per`, `\`${per.name}\` is a ${per.type.name} field, which has no index.`)
  return { kind: 'overlap', start, end }
}

function groupingField(name: unknown, { outline, fields, faults, place }: LimitContext): Field | undefined {
  const field = fields.get(String(name))
  if (field === undefined || field.internal) {
    const suggestion = didYouMean(String(name), fields.keys())
    faults.add(`${place}.per`, `\`${outline.name}\` has no field \`${String(name)}\`.${suggestion}`)
    return undefined
  }
  if (!field.type.operators.includes('eq')) {
    faults.add(
      `${place}.per`,
      `\`${field.name}\` is a ${field.type.name} field, whose values cannot be compared.`,
    )
  }
  return field
}

function messageOf(
  message: unknown,
  limit: Own<CountLimit> | Own<OverlapLimit>,
  per: Field | undefined,
  { outline, faults, place }: LimitContext,
): string {
  if (message === undefined) {
    const items = `${outline.name.replaceAll('_', ' ')}${per === undefined ? '' : ` with the same ${per.name}`}`
    if (limit.kind === 'overlap')
      return `No two ${items} can overlap between ${limit.start.name} and ${limit.end.name}.`
    const { count } = limit
    const maxItems =
      typeof count === 'number' ? `${count} ${items}` : `as many ${items} as ${count.path} says`
    return `There can be at most ${maxItems}, and this limit is reached.`
  }
  if (typeof message === 'string' && message !== '' && message.length <= maxMessageLength) return message
  faults.add(`${place}.message`, `Write a sentence of at most ${maxMessageLength} characters.`)
  return ''
}

const foreignCondition =
  'Whether an item counts may depend only on the item itself: compare its fields with constants, not with the caller, the time or related items.'

function fieldsOf(rule: Rule): readonly string[] {
  return leavesOf(rule).flatMap(leaf => (leaf.kind === 'compare' ? [leaf.field] : []))
}
