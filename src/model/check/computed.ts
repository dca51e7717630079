/** Checks computed fields. */

import { isObject } from '../../base/json.ts'
import type { ComputedDeclaration } from '../computed/computed.ts'
import { publishedCollections } from '../computed/fields.ts'
import { nonEmptyText, type OptionChecks, optionFaults } from '../fields/declared.ts'
import type { ComputedField } from '../model.ts'
import { plainField } from '../plain-field.ts'
import { anyoneRule, nobodyRule } from '../rule/rule.ts'
import { expressionCheck } from './expressions.ts'
import type { Faults } from './faults.ts'
import { checkCamelNames, checkFieldName } from './names.ts'
import type { Outline, Outlines } from './outline.ts'
import type { RuleCheck } from './rules.ts'

const optionChecks: OptionChecks = {
  description: nonEmptyText,
  access: value =>
    isObject(value) && Object.keys(value).every(key => key === 'read')
      ? undefined
      : 'Write `{ read: … }`: nobody writes it.',
}

function isComputed(value: unknown): value is ComputedDeclaration {
  return isObject(value) && value.kind === 'computed' && isObject(value.expression)
}

function checkName(name: string, outline: Outline, place: string, faults: Faults): void {
  checkFieldName(name, place, faults)
  const existing = outline.fields.has(name) ? 'field' : outline.relations.has(name) ? 'relation' : undefined
  if (existing === undefined) return
  faults.add(place, `The collection already has a ${existing} of this name. Choose another name.`)
}

function publicationNote(collection: string): string {
  return `Computed from all related \`${collection}\`, whether or not the caller can read them.`
}

function computedField(
  name: string,
  declared: ComputedDeclaration,
  outline: Outline,
  outlines: Outlines,
  rules: RuleCheck,
  faults: Faults,
): ComputedField | undefined {
  const place = `${outline.name}.computed.${name}`
  checkName(name, outline, place, faults)
  const options = declared.options ?? {}
  const invalidOptions = optionFaults(options, optionChecks)
  for (const { option, message } of invalidOptions) faults.add(option ? `${place}.${option}` : place, message)
  const expression = expressionCheck({ outlines, rules, place, faults })(declared.expression, outline)
  if (expression === undefined || invalidOptions.length > 0) return undefined
  const published = publishedCollections(expression, outline.relations)
  const description = [options.description ?? [], published.map(publicationNote)].flat().join(' ')
  return {
    ...plainField(name, expression.type, description === '' ? undefined : description),
    expression,
    optional: expression.optional,
    readOnly: true,
    access: {
      read: rules(options.access?.read, outline, `${place}.access.read`, anyoneRule),
      write: nobodyRule,
    },
  }
}

/** The computed fields of a collection, in their order. */
export function computedOf(
  outline: Outline,
  outlines: Outlines,
  rules: RuleCheck,
  faults: Faults,
): ReadonlyMap<string, ComputedField> {
  const fields = new Map<string, ComputedField>()
  const entries = isObject(outline.options.computed) ? Object.entries(outline.options.computed) : []
  for (const [name, declared] of entries) {
    if (!isComputed(declared)) {
      const message = "This is not a computed field. Write an expression, e.g. `count('tasks')`."
      faults.add(`${outline.name}.computed.${name}`, message)
      continue
    }
    const field = computedField(name, declared, outline, outlines, rules, faults)
    if (field) fields.set(name, field)
  }
  const stored = [...outline.fields.keys(), ...outline.relations.keys()]
  const computedNames = entries.map(([name]) => name).filter(name => !stored.includes(name))
  if (computedNames.length > 0)
    checkCamelNames([...stored, ...computedNames], `${outline.name}.computed`, faults)
  return fields
}
