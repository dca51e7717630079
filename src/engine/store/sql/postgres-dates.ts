/** The parts of dates and times by which aggregates group, on PostgreSQL: `dateGroupOf` as SQL. */
import { type DateGroup, hourOrderYears, offsetText } from '../../../model/fields/date-parts.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { zoneChanges } from '../../../model/time-zone.ts'
import { arg, type Conversion, type Sql, sql } from './writer.ts'

/** The changes of a zone as an array of the form in which times are stored, and the offsets between them. */
function zoneArray(name: string, items: (timeZone: string) => readonly (string | number)[]): Conversion {
  return { name, encode: (timeZone: JsonValue) => `{${items(String(timeZone)).join(',')}}` }
}
const times = zoneArray('changes of zone', timeZone =>
  zoneChanges(timeZone).times.map(time => new Date(time).toISOString()),
)
const offsets = zoneArray('offsets of zone', timeZone => zoneChanges(timeZone).offsets.map(offsetText))
const seconds = zoneArray('seconds of zone', timeZone => zoneChanges(timeZone).offsets.map(ms => ms / 1000))

const formats: Readonly<Record<DateGroup, string>> = {
  year: 'YYYY',
  quarter: 'YYYY"-Q"Q',
  month: 'YYYY-MM',
  week: 'IYYY"-W"IW',
  day: 'YYYY-MM-DD',
  hour: 'YYYY-MM-DD"T"HH24":00"',
}

/** An item of an array of the zone, at the time `value`. */
function atTime(value: Sql, zone: number, array: Conversion, type: string): Sql {
  const index = sql`width_bucket(${value} COLLATE "C", ${arg(zone, times)}::text[]) + 1`
  return sql`(${arg(zone, array)}::${[type]}[])[${index}]`
}

/** The beginning of the hour, for the order of hours: see `hourOrderLength`. `years`: by which `local` is late. */
function hourOrder(local: Sql, offset: Sql, years: number): Sql {
  const late = String((Date.UTC(1970, 0) - Date.UTC(1970 - hourOrderYears + years, 0)) / 1000)
  return sql`to_char(extract(epoch FROM date_trunc('hour', ${local})) - ${offset} + ${[late]}, 'FM000000000000')`
}

/** No date type has the year 0000, and `to_char` writes no sign: at the ends of the calendar, the year is computed. */
function rareGroup(value: Sql, part: DateGroup, zone: number | undefined): Sql {
  const years = String(hourOrderYears)
  const offset: Sql = zone === undefined ? ['0'] : atTime(value, zone, seconds, 'int')
  // Later by a multiple of 400 years, after which the calendar repeats.
  const utc = sql`((substr(${value}, 1, 4)::int + ${[years]})::text || substr(${value}, 5, 15))::timestamp`
  const local = sql`(${utc} + ${offset} * interval '1 second')`
  const [yearFormat = '', ...rest] = formats[part].split(/(?<=YYY)(?!Y)/)
  const year = sql`to_char(extract(${[yearFormat === 'IYYY' ? 'isoyear' : 'year']} FROM ${local})::int - ${[years]}, 'FM90000')`
  const text = rest.length === 0 ? year : sql`${year} || to_char(${local}, ${[`'${rest.join('')}'`]})`
  if (part !== 'hour' || zone === undefined) return text
  return sql`${hourOrder(local, offset, hourOrderYears)} || ${text} || ${atTime(value, zone, offsets, 'text')}`
}

/** `value`: an expression that costs little, since it is repeated. */
export function dateGroup(value: Sql, part: DateGroup, zone: number | undefined): Sql {
  const offset: Sql = zone === undefined ? ['0'] : atTime(value, zone, seconds, 'int')
  const utc = sql`substr(${value}, 1, 19)::timestamp`
  const local = zone === undefined ? utc : sql`(${utc} + ${offset} * interval '1 second')`
  const text = sql`to_char(${local}, ${[`'${formats[part]}'`]})`
  const isOrdered = part === 'hour' && zone !== undefined
  const common = isOrdered
    ? sql`${hourOrder(local, offset, 0)} || ${text} || ${atTime(value, zone, offsets, 'text')}`
    : text
  const isCommon = sql`${value} >= '0001-01-03' AND ${value} < '9999-12-30'`
  return sql`CASE WHEN ${isCommon} THEN ${common} ELSE ${rareGroup(value, part, zone)} END`
}
