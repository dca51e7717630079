/** `where` of `data` → a filter and its arguments. */
import { isObject } from '../../../base/json.ts'
import { isStorable } from '../../../model/fields/textual.ts'
import type { FilterOperator, JsonValue } from '../../../model/fields/type.ts'
import { schemaFaults } from '../../../model/json-schema/faults.ts'
import type { Field } from '../../../model/model.ts'
import { findRelation, type Names, namedField, quoted } from '../../plan/names.ts'
import { allOf, type Filter, type Param } from '../../plan/plan.ts'
import { takesText } from '../../plan/text-match.ts'
import { containedFault } from '../../plan/text-search.ts'
import { badCall, badValue, refuseAt } from './call-error.ts'
import type { Where } from './data.ts'

/** How deep conditions and relations may be nested: databases limit the depth of a statement. */
const maxDepth = 10
const maxListedValues = 1000
const maxConditions = 200

/** The names of a collection that exist for the principal. */
export type NamesOf = (collection: string) => Names

/** Adds an argument; returns its index. */
export type AddArgument = (value: JsonValue) => Param

interface Translation {
  readonly namesOf: NamesOf
  readonly bind: AddArgument
  conditions: number
}

/** Undefined without a condition. Throws BAD_REQUEST with the place. */
export function filterOf(
  where: Where | undefined,
  names: Names,
  place: string,
  namesOf: NamesOf,
  bind: AddArgument,
): Filter | undefined {
  if (where === undefined) return undefined
  const filter = conditions(where, names, place, { namesOf, bind, conditions: 0 }, 0)
  return filter.kind === 'and' && filter.parts.length === 0 ? undefined : filter
}

function conditions(
  where: unknown,
  names: Names,
  place: string,
  translation: Translation,
  depth: number,
): Filter {
  if (depth > maxDepth) throw badCall(place, `is nested more than ${maxDepth} deep.`)
  const filters = Object.entries(requireObject(where, place)).map(([name, value]) =>
    condition(name, requireDefined(value, `${place}.${name}`), names, `${place}.${name}`, translation, depth),
  )
  return allOf(filters)
}

function requireObject(value: unknown, place: string): object {
  if (isObject(value)) return value
  throw badCall(place, "must be an object with names of fields, e.g. { status: 'open' }.")
}

/** An undefined condition, e.g. from a missing variable, must not match every item. */
function requireDefined(value: unknown, place: string): unknown {
  if (value !== undefined) return value
  throw badCall(place, 'is undefined: omit the name to compare nothing, or use null for no value.')
}

function condition(
  name: string,
  value: unknown,
  names: Names,
  place: string,
  translation: Translation,
  depth: number,
): Filter {
  const field = namedField(names, name)
  if (field !== undefined) return comparisons(field, value, place, translation)
  const nested = (inner: unknown, innerPlace: string) =>
    conditions(inner, names, innerPlace, translation, depth + 1)
  if (name === 'and' || name === 'or') {
    if (!Array.isArray(value)) throw badCall(place, 'must be an array of conditions.')
    return { kind: name, parts: value.map((inner, index) => nested(inner, `${place}[${index}]`)) }
  }
  if (name === 'not') return { kind: 'not', part: nested(value, place) }
  const relation = findRelation(names, name, refuseAt(place))
  const filter = conditions(value, translation.namesOf(relation.target), place, translation, depth + 1)
  return { kind: 'related', relation: relation.name, filter }
}

function comparisons(field: Field, value: unknown, place: string, translation: Translation): Filter {
  if (typeof value !== 'object') return comparison(field, 'eq', value, place, translation)
  if (value === null) return comparison(field, 'null', true, place, translation)
  if (Array.isArray(value)) return comparison(field, 'in', value, place, translation)
  const operations = Object.entries(value)
  if (operations.length === 0)
    throw badCall(place, `has no operator; ${field.name} takes ${field.type.operators.join(', ')}.`)
  return allOf(
    operations.map(([operator, operand]) =>
      operation(field, operator, requireDefined(operand, `${place}.${operator}`), place, translation),
    ),
  )
}

function operation(
  field: Field,
  operator: string,
  operand: unknown,
  place: string,
  translation: Translation,
): Filter {
  if (operand === null && operator === 'eq') return comparison(field, 'null', true, place, translation)
  if (operand === null && operator === 'ne') return comparison(field, 'null', false, place, translation)
  const knownOperator = field.type.operators.find(name => name === operator)
  if (knownOperator !== undefined)
    return comparison(field, knownOperator, operand, `${place}.${operator}`, translation)
  throw badCall(
    place,
    `has no operator ${quoted(operator)}; ${field.name} takes ${field.type.operators.join(', ')}.`,
  )
}

function comparison(
  field: Field,
  operator: FilterOperator,
  operand: unknown,
  place: string,
  translation: Translation,
): Filter {
  translation.conditions++
  if (translation.conditions > maxConditions)
    throw badCall(place, `is one of more than ${maxConditions} conditions.`)
  const value = operandOf(field, operator, operand, place)
  return { kind: 'compare', field: field.name, operator, param: translation.bind(value) }
}

function operandOf(field: Field, operator: FilterOperator, operand: unknown, place: string): JsonValue {
  if (operator === 'null') {
    if (typeof operand === 'boolean') return operand
    throw badValue(place, 'must be true or false.')
  }
  if (takesText(operator)) return textOf(operand, place)
  if (operator !== 'in') return operandValue(field, operand, place)
  if (!Array.isArray(operand) || operand.length > maxListedValues) {
    throw badValue(place, `must be an array of at most ${maxListedValues.toLocaleString('en')} values.`)
  }
  return operand.map((value, index) => operandValue(field, value, `${place}[${index}]`))
}

function textOf(operand: unknown, place: string): string {
  if (typeof operand !== 'string' || !isStorable(operand)) {
    throw badValue(place, 'must be a text without U+0000.')
  }
  const fault = containedFault(operand)
  if (fault) throw badValue(place, `${fault.message}.`)
  return operand
}

function operandValue({ type }: Field, operand: unknown, place: string): JsonValue {
  const value = operand as JsonValue
  const fault = schemaFaults(type.filterSchema, value, true)[0]
  if (fault) throw badValue(place, `must ${fault.must}.`)
  try {
    return type.canonical(value)
  } catch (error) {
    if (error instanceof RangeError) throw badValue(place, `does not fit: ${error.message}`)
    throw error
  }
}
