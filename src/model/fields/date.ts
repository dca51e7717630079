import { declared, defaultOf, type FieldDeclaration, type FieldOptions } from './declared.ts'
import type { Marker } from './marker.ts'
import { orderedOperators, textColumn, textOr } from './textual.ts'
import type { FieldType, JsonValue } from './type.ts'

interface DateOptions extends FieldOptions {
  readonly default?: string | Marker<'now'>
}

const grammar = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/

/** Days of the month in the proleptic Gregorian calendar; 0 for a month that does not exist. */
export function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  if (month < 1 || month > 12) return 0
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** Whether the text is a full-date (RFC 3339, 5.6) that exists. */
export function isDate(text: string): boolean {
  const parts = grammar.exec(text)
  if (!parts) return false
  const day = Number(parts[3])
  return day >= 1 && day <= daysOf(Number(parts[1]), Number(parts[2]))
}

function calendarDay(value: JsonValue): string {
  if (typeof value === 'string' && isDate(value)) return value
  throw new RangeError('The value must be a date that exists, as YYYY-MM-DD.')
}

const schema = { type: 'string', format: 'date' }

const dateType: FieldType = {
  name: 'date',
  encoding: 'date',
  column: textColumn,
  graphql: 'Date',
  operators: orderedOperators,
  sortable: true,
  schema,
  filterSchema: schema,
  canonical: calendarDay,
  fromText: textOr(calendarDay),
}

/** A day of the calendar, `YYYY-MM-DD`, without a time or zone. */
export function date<const O extends DateOptions>(options?: O): FieldDeclaration<string, O> {
  return declared({ type: dateType, options, checks: { default: defaultOf('now') } })
}
