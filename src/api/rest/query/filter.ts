/** The names and values of filters, `field=value`, `author.name[contains]=value`, `or[1][not][field]=value` → conditions and their arguments. */

import { fieldNames, findField, namedField, quoted } from '../../../engine/plan/names.ts'
import { maxListedValues } from '../../../engine/plan/plan.ts'
import { takesText } from '../../../engine/plan/text-match.ts'
import { containedFault, searchFault, type TextFault } from '../../../engine/plan/text-search.ts'
import { isStorable } from '../../../model/fields/textual.ts'
import type { JsonSchema, JsonValue } from '../../../model/fields/type.ts'
import { typeInWords } from '../../../model/json-schema/faults.ts'
import { formats } from '../../../model/json-schema/formats.ts'
import type { Field } from '../../../model/model.ts'
import type { CollectionView } from './collection-view.ts'
import { type FilterName, parseGrouping, writeFilterName } from './filter-name.ts'
import { listParameters } from './list-parameters.ts'
import type { FilterTemplate } from './list-template.ts'
import { suggestOperator, suggestParameter, valueHint } from './other-spellings.ts'
import { type Parameter, parameterFault, requireValue, unknownParameter } from './query-string.ts'
import { follow, refuseAt } from './related-filters.ts'

/** Parses the name of a filter, e.g. `author.name[contains]`. Throws BAD_REQUEST if it is not one. */
export function parseFilterName(start: CollectionView, name: string): FilterTemplate {
  const parsed = parseGrouping(name)
  const path = parsed?.field.split('.') ?? []
  const fieldName = path.pop() ?? ''
  if (parsed === undefined || (path.length === 0 && namedField(start, fieldName) === undefined)) {
    throw unknownFilter(start, name, fieldName)
  }
  const { view, deprecations, secret } = follow(start, name, [...path, fieldName])
  const field = findField(view, fieldName, refuseAt(name, [...path, fieldName], path.length))
  const operator = field.type.operators.find(candidate => candidate === parsed.operator)
  if (!operator) throw unknownOperator(name, parsed, field)
  return {
    path,
    field,
    operator,
    alternative: parsed.alternative,
    isNegated: parsed.isNegated,
    secret,
    deprecations: field.deprecated ? [...deprecations, field.deprecated] : deprecations,
  }
}

/** `fieldName`: empty if the name does not have the form of a filter. */
function unknownFilter(start: CollectionView, name: string, fieldName: string): Error {
  const suggestion = suggestParameter(start, name)
  if (suggestion !== undefined) {
    const message = `The parameter ${quoted(name)} is not known here: write ${suggestion}.`
    return parameterFault(name, 'unknown_parameter', message)
  }
  // Where `q` is not known, it is no suggestion.
  const knownNames = [...fieldNames(start), ...listParameters.keys()].filter(known => known !== 'q')
  return unknownParameter(name, knownNames, fieldName === '' ? undefined : fieldName)
}

function unknownOperator(name: string, parsed: FilterName, { type }: Field): Error {
  const spelling = (operator: string) => writeFilterName({ ...parsed, operator }, true)
  const suggestion = suggestOperator(parsed.operator, type)
  const subject = writeFilterName({ ...parsed, operator: 'eq' })
  const hint =
    suggestion === undefined
      ? `; ${subject} takes ${type.operators.map(spelling).join(', ')}.`
      : `: write \`${writeFilterName({ ...parsed, operator: suggestion })}=…\`.`
  return parameterFault(name, 'unknown_parameter', `The parameter ${quoted(name)} is not known here${hint}`)
}

const storable = 'text without U+0000'

/** The expected value, for error messages, e.g. `a whole number`, `one of draft, published`. */
export function describeSchema({ enum: values, format, type }: JsonSchema): string {
  if (Array.isArray(values)) return `one of ${values.join(', ')}`
  const sentence = formats.get(String(format))?.sentence
  return sentence ?? (type === 'string' ? storable : typeInWords(type))
}

function wrongType(parameter: Parameter, expected: string, hint = ''): Error {
  const message = `The parameter ${quoted(parameter.name)} must be ${expected}, not ${quoted(parameter.value)}.${hint}`
  return parameterFault(parameter.name, 'wrong_type', message)
}

function parseValue(parameter: Parameter, text: string, field: Field): JsonValue {
  const value = field.type.fromText(text)
  if (value !== undefined) return value
  requireValue(parameter)
  const { name, value: fullValue } = parameter
  const hint = valueHint(name, fullValue, field)
  throw wrongType({ name, value: text }, describeSchema(field.type.filterSchema), hint)
}

function parseListed(parameter: Parameter, field: Field): JsonValue {
  const texts = parameter.value.split(',', maxListedValues + 1)
  if (texts.length > maxListedValues) {
    const message = `The parameter ${quoted(parameter.name)} may list at most ${maxListedValues} values.`
    throw parameterFault(parameter.name, 'too_many', message)
  }
  return texts.map(text => parseValue(parameter, text, field))
}

function parseText(parameter: Parameter, faultOf: (text: string) => TextFault | undefined): string {
  const { name, value } = parameter
  if (!isStorable(value)) throw wrongType(parameter, storable)
  const fault = faultOf(value)
  if (!fault) return value
  throw parameterFault(name, fault.code, `The parameter ${quoted(name)} ${fault.message}.`)
}

/** The text of a search. Throws BAD_REQUEST if it is too long, or if no stored text can contain it. */
export function parseSearch(parameter: Parameter): string {
  requireValue(parameter)
  return parseText(parameter, searchFault)
}

/**
 * The argument of a filter. Throws BAD_REQUEST, naming the parameter, if the value does not fit the field. An empty value is
 * the empty text where the field can contain it. An empty list is refused: its sender has probably joined no values.
 */
export function parseFilterValue(parameter: Parameter, { field, operator }: FilterTemplate): JsonValue {
  if (takesText(operator)) {
    const text = parseText(parameter, containedFault)
    return field.type.fromPart?.(text) ?? text
  }
  if (operator !== 'null' && operator !== 'in') return parseValue(parameter, parameter.value, field)
  requireValue(parameter)
  if (operator === 'in') return parseListed(parameter, field)
  if (parameter.value !== 'true' && parameter.value !== 'false') throw wrongType(parameter, 'true or false')
  return parameter.value === 'true'
}
