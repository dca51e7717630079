/** Parses query strings strictly: `application/x-www-form-urlencoded` with well-formed escapes only. */
import { ApiError } from '../../../base/errors.ts'
import { maxQuotedLength, quoted, type Refuse } from '../../../engine/plan/names.ts'
import { didYouMean } from '../../../model/suggest.ts'

export interface Parameter {
  readonly name: string
  readonly value: string
}

const maxParameters = 100

/** A 400 that names the parameter. */
export function parameterFault(name: string, code: string, message: string): ApiError {
  return new ApiError('BAD_REQUEST', message, {
    details: [{ field: name.slice(0, maxQuotedLength).toWellFormed(), code, message }],
  })
}

/** Creates errors for names in the value of a parameter. */
export function refuseIn(parameter: string): Refuse {
  return ({ code, message }) => parameterFault(parameter, code, `The parameter "${parameter}" ${message}`)
}

/**
 * The key of a parameter whose value determines the shape. Throws BAD_REQUEST for a value without names, or with characters
 * that `form` does not allow.
 */
export function namesKey(parameter: Parameter, form: RegExp): string {
  const { name, value } = parameter
  requireValue(parameter)
  if (form.test(value)) return `${name}=${value}`
  const message = `The parameter "${name}" must be names separated by commas, not ${quoted(value)}.`
  throw parameterFault(name, 'wrong_type', message)
}

/** For an unknown parameter. The message is the same for a hidden field. `known`: the parameters that exist for this caller. */
export function unknownParameter(
  name: string,
  known: Iterable<string> = [],
  /** The part of the name that is compared with `known`. */
  comparedName = name.replace(/\[.*/s, ''),
): ApiError {
  const hint = didYouMean(comparedName, known)
  return parameterFault(name, 'unknown_parameter', `The parameter ${quoted(name)} is not known here.${hint}`)
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    throw new ApiError(
      'BAD_REQUEST',
      `The query has a bad escape in ${quoted(text)}: write % and two hexadecimal digits, of UTF-8 text.`,
    )
  }
}

function parsePair(pair: string): Parameter {
  const equals = pair.indexOf('=')
  if (equals === -1) return { name: decode(pair), value: '' }
  return { name: decode(pair.slice(0, equals)), value: decode(pair.slice(equals + 1)) }
}

/**
 * The parameters of a query string (without `?`), in order.
 * Throws BAD_REQUEST for a bad escape, a repeated name, or too many parameters.
 */
export function parseQuery(query: string): readonly Parameter[] {
  if (query === '') return []
  const parameters: Parameter[] = []
  for (const pair of query.split('&', maxParameters + 1)) {
    const parameter = parsePair(pair)
    if (parameters.some(earlier => earlier.name === parameter.name)) {
      const message = `The parameter ${quoted(parameter.name)} occurs twice: send it once.`
      throw parameterFault(parameter.name, 'given_twice', message)
    }
    parameters.push(parameter)
  }
  if (parameters.length > maxParameters) {
    throw new ApiError('BAD_REQUEST', `A query may have at most ${maxParameters} parameters.`)
  }
  return parameters
}

/** The value of a parameter; undefined if it is missing. Throws BAD_REQUEST if it is empty. */
export function filledValue(parameters: readonly Parameter[], name: string): string | undefined {
  const parameter = parameters.find(candidate => candidate.name === name)
  if (parameter) requireValue(parameter)
  return parameter?.value
}

/** Throws BAD_REQUEST for an empty value. */
export function requireValue(parameter: Parameter): void {
  if (parameter.value !== '') return
  const message = `The parameter ${quoted(parameter.name)} is empty: give it a value, or omit it.`
  throw parameterFault(parameter.name, 'empty', message)
}
