/** The grammar of filter names: `or[1][not][author.name][contains]`; only the field is required. */
import { quoted } from '../../../engine/plan/names.ts'
import { parameterFault } from './query-string.ts'

export interface FilterName {
  /** The number of the alternative to which it belongs; undefined: it always has to hold. */
  readonly alternative: number | undefined
  readonly isNegated: boolean
  /** The field, after the relations that lead to it, joined by dots. */
  readonly field: string
  readonly operator: string
}

/** In one request. */
export const maxAlternatives = 20

const plainName = /^(?!(?:or|not)\[)([a-z][a-z0-9_.]*)(?:\[([a-z_]+)\])?$/
const groupedName =
  /^(?=(?:or|not)\[)(?:or\[(?<number>[0-9]{1,9})\])?(?<not>\[not\]|not)?\[(?<field>[a-z][a-z0-9_.]*)\](?:\[(?<operator>[a-z_]+)\])?$/

/**
 * Undefined if the name does not have the form of a filter name. No field is called `or` or `not`. Throws BAD_REQUEST for an
 * alternative whose number is out of range.
 */
export function parseGrouping(name: string): FilterName | undefined {
  const plain = plainName.exec(name)
  if (plain) {
    const [, field = '', operator = 'eq'] = plain
    return { alternative: undefined, isNegated: false, field, operator }
  }
  const { number, not, field = '', operator = 'eq' } = groupedName.exec(name)?.groups ?? {}
  if (field === '') return undefined
  const alternative = number === undefined ? undefined : Number(number)
  if (alternative !== undefined && (alternative < 1 || alternative > maxAlternatives)) {
    const message = `The parameter ${quoted(name)} must number its alternative from 1 to ${maxAlternatives}.`
    throw parameterFault(name, 'wrong_type', message)
  }
  return { alternative, isNegated: not !== undefined, field, operator }
}

/** `explicit`: also writes the operator `eq`. */
export function writeFilterName(
  { alternative, isNegated, field, operator }: FilterName,
  explicit = false,
): string {
  const segments = [
    ...(alternative === undefined ? [] : ['or', String(alternative)]),
    ...(isNegated ? ['not'] : []),
    field,
    ...(operator === 'eq' && !explicit ? [] : [operator]),
  ]
  return segments.map((part, index) => (index === 0 ? part : `[${part}]`)).join('')
}
