/** The common options of all field types, and checks of options. */

import { isObject } from '../../base/json.ts'
import { didYouMean } from '../suggest.ts'
import type { AccessRule } from '../types/rule.ts'
import type { FieldType } from './field-type.ts'
import { type MarkerName, markerNames, markerOf } from './marker.ts'

/** Dates or times are in ISO 8601. */
export interface DeprecationOptions {
  readonly since: string
  readonly sunset?: string
  readonly reason?: string
}

/** The options of every field type. */
export interface FieldOptions {
  /** The value may be null. */
  readonly optional?: boolean
  /** No two items have the same value. */
  readonly unique?: boolean
  /** Clients cannot write it. */
  readonly readOnly?: boolean
  /** Clients can write it; no caller can read it. */
  readonly writeOnly?: boolean
  /** Clients can set it only when they create the item. */
  readonly immutable?: boolean
  /** Clients can neither read nor write it. */
  readonly internal?: boolean
  /** Of `users`: the sign-up form asks for it and requires it. */
  readonly signUp?: boolean
  readonly deprecated?: DeprecationOptions
  readonly description?: string
  /** The former name of the field. A migration renames the column and keeps its data. */
  readonly renamedFrom?: string
  /** Rules that apply in addition to those of the collection. */
  readonly access?: { readonly read?: AccessRule; readonly write?: AccessRule }
}

/** The options of a built-in field that a model may add. Its rules apply in addition to the built-in ones. */
export interface FieldNarrowing {
  readonly access?: FieldOptions['access']
  readonly description?: string
}

/** The target of a relation field. */
export interface Link {
  readonly target: string
  readonly as: string | undefined
  readonly inverse: string | undefined
  /** Undefined: not declared. So is `personal`. */
  readonly onDelete: 'restrict' | 'cascade' | 'clear' | undefined
  readonly personal: boolean | undefined
}

/** A fault of one option, or of the field itself when `option` is empty. */
export interface OptionFault {
  readonly option: string
  readonly message: string
}

declare const valueType: unique symbol
declare const traitType: unique symbol

/** The trait of a relation: `Target` is the collection whose id it holds. */
export interface ReferenceTrait<Target extends string> {
  readonly target: Target
}

/** The trait of dates and times, which rules compare with `now`. */
export interface TimeTrait {
  readonly time: true
}

/**
 * A declared field. `Value`: the type of its value. `Options`: the declared options. `Trait`: further type information for
 * rules.
 */
export interface FieldDeclaration<Value = unknown, Options extends object = object, Trait = unknown> {
  readonly kind: 'field'
  readonly type: FieldType
  readonly options: Options
  readonly link: Link | undefined
  readonly faults: readonly OptionFault[]
  readonly [valueType]?: Value
  readonly [traitType]?: Trait
}

export type FieldDeclarations = Readonly<Record<string, FieldDeclaration>>

/** The options, typed with the options of all types. */
export function optionsOf(field: FieldDeclaration): FieldOptions & AnyOptions {
  return field.options
}

/** Options that only some types have. */
interface AnyOptions {
  readonly default?: unknown
  readonly searchable?: boolean
}

/** The fault of an option's value, if there is one. */
export type OptionCheck = (value: unknown) => string | undefined

export type OptionChecks = Readonly<Record<string, OptionCheck>>

export const flag: OptionCheck = value => (typeof value === 'boolean' ? undefined : 'Write true or false.')

export const nonEmptyText: OptionCheck = value =>
  typeof value === 'string' && value !== '' ? undefined : 'Write a text in quotes.'

export const naturalNumber: OptionCheck = value =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? undefined : 'Write a whole number, 0 or more.'

export const wholeNumber: OptionCheck = value =>
  Number.isSafeInteger(value) ? undefined : 'Write a whole number within ±(2^53 − 1).'

export const finiteNumber: OptionCheck = value => (Number.isFinite(value) ? undefined : 'Write a number.')

/** A regular expression that compiles with the `u` flag, as JSON Schema reads it. */
export const pattern: OptionCheck = value => {
  if (typeof value !== 'string') return "Write the pattern as a text, e.g. '^[a-z]+$'."
  try {
    new RegExp(value, 'u')
    return undefined
  } catch (error) {
    return `This is not a regular expression with the u flag: ${(error as Error).message}.`
  }
}

/** A value, or one of the markers. `checkModel` checks whether the value fits the type. */
export function defaultOf(...markers: readonly MarkerName[]): OptionCheck {
  return value => {
    if (value === null || value === undefined)
      return 'A missing value needs no default: write `optional: true`.'
    const marker = markerOf(value)
    if (marker === undefined || markers.includes(marker)) return undefined
    return `\`${markerNames[marker]}\` does not fit this field. Write a value of its type.`
  }
}

/** Whether the value has the form of a rule that the functions of `access.ts` return. */
export function isAccessRule(value: unknown): value is AccessRule {
  return isObject(value) && isObject(value.rule) && typeof value.rule.kind === 'string'
}

const access: OptionCheck = value => {
  if (!isObject(value)) return 'Write `{ read: …, write: … }`.'
  for (const [key, rule] of Object.entries(value)) {
    if (key !== 'read' && key !== 'write') return `There is no rule \`${key}\`. Write \`read\` or \`write\`.`
    if (!isAccessRule(rule)) return `\`${key}\` is not a rule. Write e.g. \`${key}: role('admin')\`.`
  }
  return undefined
}

const deprecation: OptionCheck = value =>
  isObject(value) ? undefined : "Write `{ since: '2026-01-31' }`, with `sunset` and `reason` if needed."

const common: OptionChecks = {
  optional: flag,
  unique: flag,
  readOnly: flag,
  writeOnly: flag,
  immutable: flag,
  internal: flag,
  signUp: flag,
  deprecated: deprecation,
  description: nonEmptyText,
  renamedFrom: nonEmptyText,
  access,
}

/** An undefined option counts as omitted. */
export function optionFaults(options: unknown, checks: OptionChecks): readonly OptionFault[] {
  if (!isObject(options)) return [{ option: '', message: 'Write the options as an object: `{ … }`.' }]
  return Object.entries(options).flatMap(([option, value]) => {
    if (value === undefined) return []
    const check = Object.hasOwn(checks, option) ? checks[option] : undefined
    const message = check
      ? check(value)
      : `There is no option of this name.${didYouMean(option, Object.keys(checks))}`
    return message === undefined ? [] : [{ option, message }]
  })
}

interface FieldParts<Options extends object> {
  readonly type: FieldType
  readonly options: Options | undefined
  /** The checks of this type's own options. */
  readonly checks: OptionChecks
  readonly link?: Link
  /** Faults that concern several options. */
  readonly faults?: readonly OptionFault[]
}

/** Never throws: `checkModel` reports all faults at once. */
export function declared<Value, Options extends object, Trait = unknown>(
  parts: FieldParts<Options>,
): FieldDeclaration<Value, Options, Trait> {
  const options = parts.options ?? ({} as Options)
  const faults = [...optionFaults(options, { ...common, ...parts.checks }), ...(parts.faults ?? [])]
  return Object.freeze({ kind: 'field', type: parts.type, options, link: parts.link, faults })
}

/** The fault of a minimum above the maximum. */
export function boundFaults(min: unknown, max: unknown): readonly OptionFault[] {
  if (typeof min !== 'number' || typeof max !== 'number' || min <= max) return []
  return [{ option: 'min', message: `The minimum, ${min}, is above the maximum, ${max}. No value fits.` }]
}
