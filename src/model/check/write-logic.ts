/** Checks `prepare`, `check` and the limits of a collection. */

import { isObject } from '../../base/json.ts'
import { leavesOf } from '../../base/predicate.ts'
import { optionsOf } from '../fields/declared.ts'
import type { LimitDeclaration } from '../logic/logic.ts'
import type { Collection, Field, Limit, LimitBound } from '../model.ts'
import { anyoneRule, type Rule } from '../rule/rule.ts'
import { didYouMean } from '../suggest.ts'
import { isRefused } from './compared.ts'
import type { Faults } from './faults.ts'
import type { Outline, Outlines } from './outline.ts'
import { resolveFieldPath } from './rule-paths.ts'
import type { RuleCheck } from './rules.ts'

type FieldsByName = ReadonlyMap<string, Field>

interface LimitContext {
  readonly outline: Outline
  readonly outlines: Outlines
  readonly fields: FieldsByName
  readonly rules: RuleCheck
  readonly faults: Faults
  readonly place: string
}

export function checkedWriteLogic(
  outline: Outline,
  outlines: Outlines,
  fields: FieldsByName,
  rules: RuleCheck,
  faults: Faults,
): Pick<Collection, 'prepare' | 'check' | 'limits'> {
  const { prepare, check, limits = [] } = outline.options
  checkFunction('prepare', prepare, outline, faults)
  checkFunction('check', check, outline, faults)
  if (!Array.isArray(limits)) {
    faults.add(`${outline.name}.limits`, 'Write a list: `limits: [atMost(100)]`.')
    return { prepare, check, limits: [] }
  }
  const checked = limits.flatMap((limit: unknown, index) => {
    const place = `${outline.name}.limits[${index}]`
    return limitOf(limit, { outline, outlines, fields, rules, faults, place }) ?? []
  })
  return { prepare, check, limits: checked }
}

const examples = {
  prepare: '({ next, now }) => ({ … })',
  check: "({ next }) => [{ field: 'title', message: '…' }]",
}

/** A write cannot wait for asynchronous code. */
const asynchronous = /^Async|Generator/

function checkFunction(option: 'prepare' | 'check', value: unknown, { name }: Outline, faults: Faults): void {
  if (value === undefined) return
  const place = `${name}.${option}`
  if (typeof value !== 'function') {
    faults.add(place, `Write a function: \`${option}: ${examples[option]}\`.`)
  } else if (asynchronous.test(Object.getPrototypeOf(value)?.constructor?.name ?? '')) {
    faults.add(place, 'It must be a plain function: it runs within the write, and cannot wait.')
  }
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
  const count = countOf(declared.count, options.per, context)
  const where = rules(options.where, outline, `${place}.where`, anyoneRule)
  if (!dependsOnRowAlone(where)) faults.add(`${place}.where`, foreignCondition)
  for (const name of fieldsOf(where)) {
    if (fields.get(name)?.internal)
      faults.add(`${place}.where`, `\`${name}\` is internal, so no caller could see why a write is refused.`)
  }
  return { count, per, where, message: messageOf(options.message, count, per, context) }
}

function isLimit(value: unknown): value is LimitDeclaration {
  return isObject(value) && value.kind === 'atMost' && isObject(value.options)
}

/** The count, or the field of the parent that holds it; 0 if it is refused. */
function countOf(count: LimitDeclaration['count'], per: unknown, context: LimitContext): number | LimitBound {
  const { outline, outlines, faults, place } = context
  if (!isObject(count)) {
    if (Number.isSafeInteger(count) && count > 0) return count
    faults.add(
      place,
      `Write the limit as a whole number above 0, or as a field of the parent, not \`${String(count)}\`.`,
    )
    return 0
  }
  const path = String(count.field)
  const bound = resolveFieldPath(path, outline, outlines, 0)
  if (isRefused(bound)) {
    if (bound.fault !== undefined) faults.add(place, bound.fault)
    return 0
  }
  const { name, declared } = bound
  if (path !== `${outline.references.get(String(per))?.name}.${name}`) {
    const write = "`atMost(field('session.capacity'), { per: 'session_id' })`"
    faults.add(place, `\`${path}\` is no field of the item that \`per\` refers to. Write e.g. ${write}.`)
  } else if (!declared.type.summable || declared.type.encoding.isWhole !== true) {
    faults.add(place, `\`${path}\` is a ${declared.type.name} field. Only an integer field can be a limit.`)
  } else if (optionsOf(declared).internal === true) {
    faults.add(place, `\`${path}\` is internal, so no caller could see why a write is refused.`)
  }
  return { collection: bound.outline.name, field: name, path }
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
  count: Limit['count'],
  per: Field | undefined,
  { outline, faults, place }: LimitContext,
): string {
  if (message === undefined) {
    const items = `${outline.name.replaceAll('_', ' ')}${per === undefined ? '' : ` with the same ${per.name}`}`
    const most = typeof count === 'number' ? `${count} ${items}` : `as many ${items} as ${count.path} says`
    return `There can be at most ${most}, and this limit is reached.`
  }
  if (typeof message === 'string' && message !== '' && message.length <= maxMessageLength) return message
  faults.add(`${place}.message`, `Write a sentence of at most ${maxMessageLength} characters.`)
  return ''
}

const foreignCondition =
  'Whether an item counts may depend only on the item itself: compare its fields with constants, not with the caller, the time or related items.'

/** Whether only a write of the row itself can change the result of the rule. */
function dependsOnRowAlone(rule: Rule): boolean {
  return leavesOf(rule).every(leaf => {
    if (leaf.kind === 'compare') return leaf.operand.kind === 'literal' && !leaf.field.includes('.')
    return leaf.kind === 'anyone' || leaf.kind === 'nobody'
  })
}

function fieldsOf(rule: Rule): readonly string[] {
  return leavesOf(rule).flatMap(leaf => (leaf.kind === 'compare' ? [leaf.field] : []))
}
