/** The query string as pairs, strictly: `application/x-www-form-urlencoded` with every escape well-formed. */
import { ApiError } from '../errors.ts'
import { didYouMean } from '../model/nearest.ts'

export interface Parameter {
  readonly name: string
  readonly value: string
}

const MOST_PARAMETERS = 100
const LONGEST_ECHO = 60

/** A piece of what the client sent, short enough to be shown back. */
export function echo(text: string): string {
  return JSON.stringify(text.length > LONGEST_ECHO ? `${text.slice(0, LONGEST_ECHO)}…` : text)
}

/** A 400 that names the parameter. */
export function parameterFault(name: string, code: string, message: string): ApiError {
  return new ApiError('BAD_REQUEST', message, {
    details: [{ field: name.slice(0, LONGEST_ECHO), code, message }],
  })
}

/** A parameter that nobody knows; also what a hidden field looks like. `known`: those that this caller has. */
export function unknownParameter(name: string, known: Iterable<string> = []): ApiError {
  const meant = didYouMean(name.replace(/\[.*/s, ''), known)
  return parameterFault(name, 'unknown_parameter', `The parameter ${echo(name)} is not known here.${meant}`)
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    throw new ApiError(
      'BAD_REQUEST',
      `The query has a bad escape in ${echo(text)}: write % and two hexadecimal digits, of UTF-8 text.`,
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
 * Throws BAD_REQUEST for a bad escape, a name given twice, an empty value (except `cursor`'s) or too many.
 */
export function parseQuery(query: string): readonly Parameter[] {
  if (query === '') return []
  const parameters: Parameter[] = []
  for (const pair of query.split('&', MOST_PARAMETERS + 1)) {
    const parameter = parsePair(pair)
    if (parameters.some(known => known.name === parameter.name)) {
      const message = `The parameter ${echo(parameter.name)} is given twice; give it once.`
      throw parameterFault(parameter.name, 'given_twice', message)
    }
    parameters.push(parameter)
  }
  if (parameters.length > MOST_PARAMETERS) {
    throw new ApiError('BAD_REQUEST', `A query may have at most ${MOST_PARAMETERS} parameters.`)
  }
  return parameters
}

/** Refuses an empty value, once the parameter is known. */
export function requireValue(parameter: Parameter): void {
  if (parameter.value !== '') return
  const message = `The parameter ${echo(parameter.name)} is empty; give it a value or leave it out.`
  throw parameterFault(parameter.name, 'empty', message)
}
