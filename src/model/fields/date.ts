import { dateGroups } from './date-parts.ts'
import { declared, defaultOf, type FieldDeclaration, type FieldOptions, type TimeTrait } from './declared.ts'
import type { Encoding } from './encoding.ts'
import type { FieldType, GraphqlScalar } from './field-type.ts'
import type { Marker } from './marker.ts'
import { orderedOperators, textEncoding, textOr } from './textual.ts'
import type { JsonValue } from './type.ts'

interface DateOptions extends FieldOptions {
  readonly default?: string | Marker<'now'>
}

const grammar = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/

/** The number of days of a month in the proleptic Gregorian calendar; 0 for a month that does not exist. */
export function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  if (month < 1 || month > 12) return 0
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** Whether the text is a full-date (RFC 3339, 5.6) that exists. */
export function isDate(text: string): boolean {
  const parts = grammar.exec(text)
  if (!parts) return false
  const day = Number(parts[3])
  return day >= 1 && day <= daysInMonth(Number(parts[1]), Number(parts[2]))
}

function requireDate(value: JsonValue): string {
  if (typeof value === 'string' && isDate(value)) return value
  throw new RangeError('The value must be a date that exists, as YYYY-MM-DD.')
}

const schema = { type: 'string', format: 'date' }

/** Stored as text, since no date type of PostgreSQL has the year 0000. */
export const dateEncoding: Encoding = {
  ...textEncoding,
  name: 'date',
  maxBytes: 14,
  widens: [],
  now: time => time.slice(0, 10),
  sqlite: { ...textEncoding.sqlite, now: `date('now')` },
  postgres: { ...textEncoding.postgres, now: `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')` },
}

const scalar: GraphqlScalar = {
  name: 'Date',
  description: 'A day as ISO 8601, e.g. `2026-01-31`.',
  specifiedByURL: 'https://scalars.graphql.org/andimarek/local-date',
  text: { canonical: text => (isDate(text) ? text : undefined), example: '2026-01-31' },
}

const dateType: FieldType = {
  name: 'date',
  encoding: dateEncoding,
  graphql: { type: scalar },
  operators: orderedOperators,
  sortable: true,
  dateGroups,
  schema,
  filterSchema: schema,
  canonical: requireDate,
  fromText: textOr(requireDate),
}

/** A day of the calendar, `YYYY-MM-DD`, without a time or zone. */
export function date<const O extends DateOptions>(options?: O): FieldDeclaration<string, O, TimeTrait> {
  return declared({ type: dateType, options, checks: { default: defaultOf('now') } })
}
