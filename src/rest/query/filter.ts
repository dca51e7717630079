/** `field=value`, `field[operator]=value` and the same along relations → filters and their arguments. */
import type { JsonSchema, JsonValue } from '../../model/fields/type.ts'
import { typeInWords } from '../../model/json-schema/faults.ts'
import { formats } from '../../model/json-schema/formats.ts'
import type { Field } from '../../model/model.ts'
import { findField, quoted } from '../../plan/names.ts'
import { containedFault, searchFault } from '../../plan/text-search.ts'
import type { CollectionView } from './collection-view.ts'
import type { FilterTemplate } from './list-template.ts'
import { type Parameter, parameterFault, requireValue, unknownParameter } from './query-string.ts'
import { follow, refuseAt } from './related-filters.ts'

/** Of the operator `in`. */
export const maxListedValues = 100

const filterName = /^([a-z][a-z0-9_.]*)(?:\[([a-z]+)\])?$/

/** The parameters of every list that are not filters. */
const listParameterNames = ['page', 'per_page', 'cursor', 'sort', 'fields', 'include']

/** The filter of a parameter's name, e.g. `author.name[contains]`. Throws BAD_REQUEST when the name is no filter. */
export function parseFilterName(start: CollectionView, name: string): FilterTemplate {
  const [, names = '', operator = 'eq'] = filterName.exec(name) ?? []
  const path = names.split('.')
  const fieldName = path.pop() ?? ''
  if (path.length === 0 && !start.fields.has(fieldName)) {
    throw unknownParameter(name, [...listParameterNames, ...start.fields.keys(), 'total'])
  }
  const { view, deprecations, secret } = follow(start, name, [...path, fieldName])
  const field = findField(view, fieldName, refuseAt(name, [...path, fieldName], path.length))
  const known = field.type.operators.find(candidate => candidate === operator)
  if (!known) throw unknownOperator(name, names, field)
  return {
    path,
    field,
    operator: known,
    secret,
    deprecations: field.deprecated ? [...deprecations, field.deprecated] : deprecations,
  }
}

function unknownOperator(name: string, filtered: string, { type }: Field): Error {
  const operators = type.operators.map(candidate => `${filtered}[${candidate}]`)
  const message = `The parameter ${quoted(name)} is not known here; ${filtered} takes ${operators.join(', ')}.`
  return parameterFault(name, 'unknown_parameter', message)
}

const storable = 'text without U+0000'

/** What a value must be, for people, e.g. `a whole number`, `one of draft, published`. */
export function describeSchema({ enum: values, format, type }: JsonSchema): string {
  if (Array.isArray(values)) return `one of ${values.join(', ')}`
  const sentence = formats.get(String(format))?.sentence
  return sentence ?? (type === 'string' ? storable : typeInWords(type))
}

function wrongType(parameter: Parameter, expected: string): Error {
  const message = `The parameter ${quoted(parameter.name)} must be ${expected}, not ${quoted(parameter.value)}.`
  return parameterFault(parameter.name, 'wrong_type', message)
}

function parseValue(parameter: Parameter, text: string, field: Field): JsonValue {
  const value = field.type.fromText(text)
  if (value === undefined) {
    throw wrongType({ name: parameter.name, value: text }, describeSchema(field.type.filterSchema))
  }
  return value
}

function parseListed(parameter: Parameter, field: Field): JsonValue {
  const texts = parameter.value.split(',', maxListedValues + 1)
  if (texts.length > maxListedValues) {
    const message = `The parameter ${quoted(parameter.name)} may list at most ${maxListedValues} values.`
    throw parameterFault(parameter.name, 'too_many', message)
  }
  return texts.map(text => parseValue(parameter, text, field))
}

function parseText(parameter: Parameter, faultOf: typeof searchFault): string {
  const { name, value } = parameter
  requireValue(parameter)
  if (value.includes('\0')) throw wrongType(parameter, storable)
  const fault = faultOf(value)
  if (!fault) return value
  throw parameterFault(name, fault.code, `The parameter ${quoted(name)} ${fault.message}.`)
}

/** The text of a search. Throws BAD_REQUEST when it is too long, or contains U+0000, which no stored text does. */
export function parseSearch(parameter: Parameter): string {
  return parseText(parameter, searchFault)
}

/** The argument of a filter. Throws BAD_REQUEST, naming the parameter, for a value that does not fit its field. */
export function parseFilterValue(parameter: Parameter, { field, operator }: FilterTemplate): JsonValue {
  requireValue(parameter)
  if (operator === 'in') return parseListed(parameter, field)
  if (operator === 'contains') return parseText(parameter, containedFault)
  if (operator !== 'null') return parseValue(parameter, parameter.value, field)
  if (parameter.value !== 'true' && parameter.value !== 'false') throw wrongType(parameter, 'true or false')
  return parameter.value === 'true'
}
