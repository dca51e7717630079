/** `?field=value`, `?field[operator]=value` and the same along relations → conditions and their arguments. */
import { typeInWords } from '../model/fault.ts'
import type { JsonSchema, JsonValue } from '../model/fields/type.ts'
import { formats } from '../model/formats.ts'
import type { Field } from '../model/model.ts'
import { containedFault, searchFault } from '../plan/text-search.ts'
import type { FilterTemplate } from './list-template.ts'
import { echo, type Parameter, parameterFault, requireValue, unknownParameter } from './parameters.ts'
import { follow, unknownName } from './related.ts'
import type { CollectionView } from './view.ts'

/** `in` takes at most this many values. */
export const mostListed = 100

const written = /^([a-z][a-z0-9_.]*)(?:\[([a-z]+)\])?$/

/** The parameters of every list that are no filters. */
const ofEveryList = ['page', 'per_page', 'cursor', 'sort', 'fields', 'include']

/** The filter that a parameter's name stands for, e.g. `author.name[contains]`. Throws BAD_REQUEST when there is none. */
export function parseFilterName(start: CollectionView, name: string): FilterTemplate {
  const [, names = '', operator = 'eq'] = written.exec(name) ?? []
  const path = names.split('.')
  const fieldName = path.pop() ?? ''
  if (path.length === 0 && !start.fields.has(fieldName)) {
    throw unknownParameter(name, [...ofEveryList, ...start.fields.keys(), 'total'])
  }
  const { view, deprecations, secret } = follow(start, name, [...path, fieldName])
  const field = view.fields.get(fieldName)
  if (!field) throw unknownName(name, [...path, fieldName], path.length, view.fields.keys())
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
  const message = `The parameter ${echo(name)} is not known here; ${filtered} takes ${operators.join(', ')}.`
  return parameterFault(name, 'unknown_parameter', message)
}

const storable = 'text without U+0000'

/** What a value must be, in words, e.g. `a whole number`, `one of draft, published`. */
function describeSchema({ enum: values, format, type }: JsonSchema): string {
  if (Array.isArray(values)) return `one of ${values.join(', ')}`
  const sentence = formats.get(String(format))?.sentence
  return sentence ?? (type === 'string' ? storable : typeInWords(type))
}

function wrongType(parameter: Parameter, expected: string): Error {
  const message = `The parameter ${echo(parameter.name)} must be ${expected}, not ${echo(parameter.value)}.`
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
  const texts = parameter.value.split(',', mostListed + 1)
  if (texts.length > mostListed) {
    const message = `The parameter ${echo(parameter.name)} may list at most ${mostListed} values.`
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
  throw parameterFault(name, fault.code, `The parameter ${echo(name)} ${fault.message}.`)
}

/** What is searched for. Throws BAD_REQUEST for too much, and for U+0000, which no stored text holds. */
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
