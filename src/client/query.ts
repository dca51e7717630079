/** Turns options of reads into the query string of REST. */

export type Parameters = readonly (readonly [name: string, value: string])[]

type OptionValues = Readonly<Record<string, unknown>>

const operators: ReadonlySet<string> = new Set(
  'eq ne in null gt gte lt lte contains icontains starts_with'.split(' '),
)

export function queryString(parameters: Parameters): string {
  if (parameters.length === 0) return ''
  return `?${parameters.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')}`
}

/** Returns the options that are set, under their names in REST. Lists are joined by commas. */
export function parametersOf(options: object, names: Readonly<Record<string, string>>): Parameters {
  const entries = options as OptionValues
  return Object.entries(names).flatMap(([option, name]) => {
    const value = entries[option]
    return value === undefined ? [] : [[name, joined(value)] as const]
  })
}

function joined(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : String(value)
}

/** Throws a `TypeError` that names the place of a condition that REST cannot express. */
export function filtersOf(where: unknown): Parameters {
  if (where === undefined) return []
  const { or, ...rest } = membersOf(where, 'where')
  return [...literals(rest, '', 'where'), ...(or === undefined ? [] : alternatives(or))]
}

function alternatives(or: unknown): Parameters {
  if (!Array.isArray(or)) throw new TypeError('where.or must be an array of conditions.')
  if (or.length === 0) throw new TypeError('where.or lists no alternative: nothing would match.')
  return or.flatMap((alternative, index) => {
    const place = `where.or[${index}]`
    const conditions = literals(membersOf(alternative, place), `or[${index + 1}]`, place)
    if (conditions.length === 0) throw new TypeError(`${place} has no condition: omit it.`)
    return conditions
  })
}

/** `group`: the parameter's prefix, e.g. `or[1]`; empty for conditions of no group. */
function literals({ not, ...conditions }: OptionValues, group: string, place: string): Parameters {
  const negated = not === undefined ? [] : [not].flat()
  return [
    ...comparisons(conditions, [], place).map(literal => parameter(group, literal)),
    ...negated.map(condition => negation(condition, group, `${place}.not`)),
  ]
}

function negation(condition: unknown, group: string, place: string): Parameters[number] {
  const [literal, ...others] = comparisons(membersOf(condition, place), [], place)
  if (literal === undefined || others.length > 0)
    throw new TypeError(`${place} takes one condition, or an array of objects with one condition each.`)
  return parameter(group === '' ? 'not' : `${group}[not]`, literal)
}

interface Literal {
  readonly field: string
  readonly operator: string
  readonly value: string
}

function parameter(group: string, { field, operator, value }: Literal): Parameters[number] {
  return [`${group === '' ? field : `${group}[${field}]`}[${operator}]`, value]
}

function comparisons(conditions: OptionValues, path: readonly string[], place: string): readonly Literal[] {
  return Object.entries(conditions).flatMap(([name, value]) =>
    value === undefined ? [] : comparison([...path, name], value, `${place}.${name}`),
  )
}

/** Only the model knows which names are relations: an object counts as a relation unless all of its members are operators. */
function comparison(path: readonly string[], value: unknown, place: string): readonly Literal[] {
  const field = path.join('.')
  if (value === null) return [{ field, operator: 'null', value: 'true' }]
  if (Array.isArray(value)) return [listed(field, value, place)]
  if (typeof value !== 'object') return [{ field, operator: 'eq', value: String(value) }]
  const members = membersOf(value, place)
  if (!isOperators(members)) return comparisons(members, path, place)
  return Object.entries(members).flatMap(([operator, operand]) =>
    operand === undefined ? [] : operation(field, operator, operand, `${place}.${operator}`),
  )
}

function isOperators(members: OptionValues): boolean {
  const entries = Object.entries(members)
  const isOperator = ([name, value]: [string, unknown]) =>
    operators.has(name) && (typeof value !== 'object' || value === null || Array.isArray(value))
  return entries.length > 0 && entries.every(isOperator)
}

function operation(field: string, operator: string, operand: unknown, place: string): readonly Literal[] {
  if (operand === null && (operator === 'eq' || operator === 'ne'))
    return [{ field, operator: 'null', value: String(operator === 'eq') }]
  if (operator !== 'in') return [{ field, operator, value: String(operand) }]
  if (!Array.isArray(operand)) throw new TypeError(`${place} must be an array.`)
  return [listed(field, operand, place)]
}

/** REST takes an empty parameter as a list without values. */
function listed(field: string, values: readonly unknown[], place: string): Literal {
  const unlistable = values.findIndex(
    value => value === null || value === undefined || String(value).includes(','),
  )
  if (unlistable !== -1)
    throw new TypeError(
      `${place} cannot list ${JSON.stringify(values[unlistable])}: write it as an alternative of \`or\`.`,
    )
  if (values.length === 0) throw new TypeError(`${place} lists no value: nothing would match.`)
  const value = values.join(',')
  return { field, operator: value === '' ? 'eq' : 'in', value }
}

/** Refuses dates, maps and the like: they have no enumerable members, and an ignored condition would widen the result. */
function membersOf(value: unknown, place: string): OptionValues {
  const prototype = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : undefined
  if (prototype === null || (prototype && Object.getPrototypeOf(prototype) === null))
    return value as OptionValues
  throw new TypeError(
    `${place} must be an object of conditions, e.g. { status: 'open' }; times are ISO 8601 texts.`,
  )
}
