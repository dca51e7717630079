import { daysInMonth } from './date.ts'
import { timeGroups } from './date-parts.ts'
import { declared, defaultOf, type FieldDeclaration, type FieldOptions, type TimeTrait } from './declared.ts'
import type { Encoding } from './encoding.ts'
import type { FieldType, GraphqlScalar } from './field-type.ts'
import type { Marker } from './marker.ts'
import { orderedOperators, textEncoding, textOr } from './textual.ts'
import type { JsonValue } from './type.ts'

interface DatetimeOptions extends FieldOptions {
  readonly default?: string | Marker<'now'>
}

/** A date-time of RFC 3339, 5.6. Seconds end at 59: a leap second has no canonical form here. */
const grammar =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,12}))?(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))$/

const canonicalForm = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/
const minuteMs = 60_000

/** The time in UTC as `YYYY-MM-DDTHH:MM:SS.sssZ`, cut to milliseconds; undefined if the text is not a valid time. */
export function utcOf(text: string): string | undefined {
  const parts = grammar.exec(text)
  if (!parts) return undefined
  const day = Number(parts[3])
  if (day < 1 || day > daysInMonth(Number(parts[1]), Number(parts[2]))) return undefined
  const milliseconds = (parts[7] ?? '').slice(0, 3).padEnd(3, '0')
  const local = `${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`
  const offsetMs = (Number(parts[9] ?? 0) * 60 + Number(parts[10] ?? 0)) * minuteMs
  if (offsetMs === 0) return local
  const utc = new Date(Date.parse(local) + (parts[8] === '-' ? offsetMs : -offsetMs)).toISOString()
  // `toISOString` writes years before 0000 and after 9999 in ISO 8601's expanded form.
  return canonicalForm.test(utc) ? utc : undefined
}

function requireTime(value: JsonValue): string {
  const utc = typeof value === 'string' ? utcOf(value) : undefined
  if (utc !== undefined) return utc
  throw new RangeError('The value must be a date and time with its zone, e.g. 2026-01-31T12:00:00Z.')
}

const schema = { type: 'string', format: 'date-time' }

/** Stored as text, since no date type of PostgreSQL has the year 0000. */
export const datetimeEncoding: Encoding = {
  ...textEncoding,
  name: 'datetime',
  maxBytes: 40,
  widens: [],
  now: time => time,
  sqlite: { ...textEncoding.sqlite, now: `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')` },
  postgres: {
    ...textEncoding.postgres,
    now: `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  },
}

const scalar: GraphqlScalar = {
  name: 'DateTime',
  description: 'A point in time as ISO 8601, returned in UTC, e.g. `2026-01-31T12:00:00.000Z`.',
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time',
  text: { canonical: utcOf, example: '2026-01-31T12:00:00Z' },
}

const datetimeType: FieldType = {
  name: 'datetime',
  encoding: datetimeEncoding,
  graphql: { type: scalar },
  distinctValues: Number.POSITIVE_INFINITY,
  operators: orderedOperators,
  sortable: true,
  dateGroups: timeGroups,
  schema,
  filterSchema: schema,
  canonical: requireTime,
  fromText: textOr(requireTime),
}

/** A point in time, to the millisecond, returned in UTC. Years 0000 to 9999. */
export function datetime<const O extends DatetimeOptions>(
  options?: O,
): FieldDeclaration<string, O, TimeTrait> {
  return declared({ type: datetimeType, options, checks: { default: defaultOf('now') } })
}
