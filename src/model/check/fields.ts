/** Checks the options of fields. */

import { isObject } from '../../base/json.ts'
import { utcOf } from '../fields/datetime.ts'
import { type DeprecationOptions, type FieldDeclaration, optionsOf } from '../fields/declared.ts'
import { formTypes } from '../fields/field-type.ts'
import { markerOf } from '../fields/marker.ts'
import type { JsonValue } from '../fields/type.ts'
import { canonicalOf } from '../json-schema/faults.ts'
import type { Deprecation, Field, FieldDefault, ToOne } from '../model.ts'
import { anyoneRule, type Rule } from '../rule/rule.ts'
import { didYouMean } from '../suggest.ts'
import type { Faults } from './faults.ts'
import { checkPlainName } from './names.ts'
import type { Outline } from './outline.ts'
import { dependsOnRow, type RuleCheck } from './rules.ts'

/** A date-time, or midnight in UTC of a date. */
const timeOf = (text: unknown) =>
  typeof text === 'string' ? (utcOf(text) ?? utcOf(`${text}T00:00:00Z`)) : undefined

/** Normalises times to UTC. */
export function deprecationOf(
  declared: DeprecationOptions | null | undefined,
  place: string,
  faults: Faults,
): Deprecation | undefined {
  if (declared === undefined || declared === null) return undefined
  for (const key of Object.keys(declared)) {
    const options = ['since', 'sunset', 'reason']
    faults.addUnless(
      options.includes(key),
      place,
      `There is no option \`${key}\`.${didYouMean(key, options)}`,
    )
  }
  const since = timeOf(declared.since)
  const sunset = timeOf(declared.sunset)
  faults.addUnless(since !== undefined, `${place}.since`, "Write a date that exists, e.g. '2026-01-31'.")
  if (declared.sunset !== undefined && sunset === undefined) {
    faults.add(`${place}.sunset`, "Write a date that exists, e.g. '2026-12-31'.")
  }
  if (declared.reason !== undefined && typeof declared.reason !== 'string') {
    faults.add(`${place}.reason`, 'Write a text in quotes.')
  }
  if (since !== undefined && sunset !== undefined && sunset < since) {
    faults.add(`${place}.sunset`, 'The sunset is before `since`. Write a later date.')
  }
  return { since: since ?? '', sunset, reason: declared.reason }
}

function defaultOf(declared: FieldDeclaration, place: string, faults: Faults): FieldDefault | undefined {
  const value = optionsOf(declared).default
  if (value === undefined || value === null) return undefined
  const kind = markerOf(value)
  if (kind !== undefined) return { kind }
  const canonical = canonicalOf(declared.type, value as JsonValue)
  if ('value' in canonical) return { kind: 'value', value: canonical.value }
  faults.add(`${place}.default`, `The default does not fit the field. ${canonical.fault}`)
  return undefined
}

/** Reports contradictory options. */
function checkCombinations(field: Field, outline: Outline, place: string, faults: Faults): void {
  if (field.readOnly && field.writeOnly) {
    faults.add(place, 'A field cannot be both read-only and write-only. Write `internal: true` instead.')
  }
  const needsValue = !field.optional && field.default === undefined && !outline.builtin.has(field.name)
  const isSet = outline.options.prepare !== undefined || isCreatedByService(outline)
  if (needsValue && (field.internal || (field.readOnly && !isSet))) {
    const [restriction, remedy] = field.internal
      ? ['internal', '`optional: true` or a `default`']
      : [
          'read-only',
          '`optional: true`, a `default`, a `prepare` of the collection that sets it, or `create: nobody` if `data.asSystem` alone creates items',
        ]
    faults.add(place, `It is required but ${restriction}, so no item could be created. Write ${remedy}.`)
  }
  if (field.unique && !field.type.operators.includes('eq')) {
    faults.add(`${place}.unique`, `A ${field.type.name} field cannot be compared, so it cannot be unique.`)
  }
  if (field.unique && field.default?.kind === 'value') {
    faults.add(
      `${place}.default`,
      'Only one item could have this default, because the field is unique. Remove the default.',
    )
  }
}

/** Otherwise other callers could erase it, and an update that omits it would name another app. */
function checkCurrentApp(
  { default: initial, readOnly, immutable, internal }: Field,
  place: string,
  faults: Faults,
): void {
  faults.addUnless(
    initial?.kind !== 'currentApp' || readOnly || immutable || internal,
    place,
    'The default is the app that creates the item, which other apps could change. Write `readOnly: true`, or `immutable: true` if clients may choose the value of a new item.',
  )
}

/** Whether only the model's own code creates items, which sets read-only fields too. */
function isCreatedByService({ options }: Outline): boolean {
  return options.access?.create?.rule?.kind === 'nobody'
}

/** Uses the declared rule, because `Field` has `nobody` in place of an invalid rule. */
function checkWritable(
  field: Field,
  declared: FieldDeclaration,
  outline: Outline,
  place: string,
  faults: Faults,
): void {
  if (field.optional || field.default !== undefined || isCreatedByService(outline)) return
  if (optionsOf(declared).access?.write?.rule.kind !== 'nobody') return
  faults.add(
    place,
    'It is required but no caller can write it, so no item could be created. Write `optional: true` or a `default`.',
  )
}

/** The first start creates an administrator from a name, an address and a password alone. */
function checkAccount(field: Field, collection: string, place: string, faults: Faults): void {
  if (collection !== 'users' || field.optional) return
  if (field.default !== undefined && field.default.kind !== 'currentUser') return
  faults.add(
    place,
    'The first start could not create an administrator, because this field is required. Write `optional: true` or a `default`.',
  )
}

/** Whether the rule requires a role. */
function needsRole(rule: Rule): boolean {
  if (rule?.kind === 'and') return rule.parts.some(needsRole)
  if (rule?.kind === 'or') return rule.parts.every(needsRole)
  return rule?.kind === 'nobody' || rule?.kind === 'role'
}

function checkSignUp(field: Field, declared: FieldDeclaration, outline: Outline, faults: Faults): void {
  if (!field.signUp) return
  const place = `${outline.name}.fields.${field.name}.signUp`
  if (outline.name !== 'users') {
    faults.add(place, 'Signing up creates an item of `users` and of no other collection. Remove the option.')
    return
  }
  if (field.readOnly || field.internal) {
    faults.add(
      place,
      'Clients cannot write this field, so the sign-up form cannot ask for it. Remove the option.',
    )
  }
  if (field.reference || !formTypes.has(field.type.schema.type)) {
    faults.add(place, `A form cannot ask for a ${field.type.name} field. Leave it out.`)
  }
  const write = optionsOf(declared).access?.write?.rule
  if (write && needsRole(write)) {
    faults.add(
      place,
      'A person who signs up would write this field, which its `write` rule forbids. Remove one of them.',
    )
  }
}

function checkSearchable(field: Field, place: string, faults: Faults): void {
  if (!field.searchable) return
  const optionPlace = `${place}.searchable`
  if (!field.type.operators.includes('contains')) {
    faults.add(
      optionPlace,
      `Only text can be searched, and this is a ${field.type.name} field. Leave it out.`,
    )
  }
  // FTS5 tables have a hidden column of this name (https://sqlite.org/fts5.html).
  if (field.name === 'rank')
    faults.add(optionPlace, 'A field called `rank` cannot be searched. Choose another name.')
  if (field.writeOnly || field.internal) {
    faults.add(
      optionPlace,
      'The field is never returned by the API, but a search would reveal its value. Remove the option.',
    )
  }
  if (dependsOnRow(field.access.read)) {
    faults.add(
      optionPlace,
      'Its read rule depends on the row, and a search would reveal values in hidden rows. Remove `searchable`, or write a rule that does not depend on the row.',
    )
  }
}

/** The description, with what a personal relation says: it is shown wherever fields are. */
function withPersonal(description: string | undefined, reference: ToOne | undefined): string | undefined {
  if (reference?.personal !== true) return description
  const owner = reference.target === 'users' ? 'this person' : 'the person to whom this one belongs'
  const sentence = `The item is personal data of ${owner}.`
  return description === undefined ? sentence : `${description} ${sentence}`
}

function readField(
  name: string,
  declared: FieldDeclaration,
  outline: Outline,
  rules: RuleCheck,
  faults: Faults,
): Field {
  const place = `${outline.name}.fields.${name}`
  const options = optionsOf(declared)
  return {
    name,
    type: declared.type,
    description: withPersonal(options.description, outline.references.get(name)),
    optional: options.optional === true,
    default: defaultOf(declared, place, faults),
    unique: options.unique === true,
    readOnly: options.readOnly === true,
    writeOnly: options.writeOnly === true,
    immutable: options.immutable === true,
    internal: options.internal === true,
    searchable: options.searchable === true,
    signUp: options.signUp === true,
    deprecated: deprecationOf(options.deprecated, `${place}.deprecated`, faults),
    renamedFrom: options.renamedFrom,
    access: {
      read: rules(options.access?.read, outline, `${place}.access.read`, anyoneRule),
      write: rules(options.access?.write, outline, `${place}.access.write`, anyoneRule),
    },
    reference: outline.references.get(name),
  }
}

/** Replaces a field with invalid options, so that the rest can be checked. */
const withoutOptions = (declared: FieldDeclaration): FieldDeclaration => ({
  ...declared,
  options: { optional: true },
})

/** A refused relation may be intended for `users` or `oauth_apps`: then the fault of the relation is enough. */
function mayBeMeantForCaller({ link, options }: FieldDeclaration, place: string, faults: Faults): boolean {
  const name = isObject(options) ? markerOf(options['default']) : undefined
  const isCaller = name === 'currentUser' || name === 'currentApp'
  return link !== undefined && isCaller && faults.list.some(fault => fault.place === place)
}

export function checkedField(
  name: string,
  declared: FieldDeclaration,
  outline: Outline,
  rules: RuleCheck,
  faults: Faults,
): Field {
  const place = `${outline.name}.fields.${name}`
  for (const { option, message } of declared.faults) {
    if (option === 'default' && mayBeMeantForCaller(declared, place, faults)) continue
    faults.add(option ? `${place}.${option}` : place, message)
  }
  if (declared.faults.length > 0) return readField(name, withoutOptions(declared), outline, rules, faults)
  const field = readField(name, declared, outline, rules, faults)
  checkCombinations(field, outline, place, faults)
  checkWritable(field, declared, outline, place, faults)
  checkCurrentApp(field, place, faults)
  if (!outline.builtin.has(name)) checkAccount(field, outline.name, place, faults)
  checkSearchable(field, place, faults)
  checkSignUp(field, declared, outline, faults)
  return field
}

interface Renamed {
  readonly name: string
  readonly renamedFrom: string | undefined
}

/** Former names must be valid, no longer in use, and distinct. */
export function checkRenames(
  declarations: Iterable<Renamed>,
  placeOf: (name: string) => string,
  faults: Faults,
): void {
  const renamables = [...declarations]
  const names = new Set(renamables.map(({ name }) => name))
  const newNames = new Map<string, string>()
  for (const { name, renamedFrom } of renamables) {
    if (renamedFrom === undefined) continue
    const place = `${placeOf(name)}.renamedFrom`
    const other = newNames.get(renamedFrom)
    checkPlainName(renamedFrom, place, faults)
    if (names.has(renamedFrom))
      faults.add(place, `\`${renamedFrom}\` still exists. Leave \`renamedFrom\` out.`)
    if (other !== undefined) faults.add(place, `\`${other}\` is already renamed from \`${renamedFrom}\`.`)
    newNames.set(renamedFrom, name)
  }
}
