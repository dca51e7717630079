/** The parts of dates and times by which aggregates group, on PostgreSQL: `dateGroupOf` as SQL. */
import { type DateGroup, hourOrderYears, offsetText } from '../../../model/fields/date-parts.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { zoneChanges } from '../../../model/time-zone.ts'
import { arg, type Conversion, type Sql, sql } from './writer.ts'

/** Later by a multiple of 400 years, after which the calendar repeats: no date type has the year 0000. */
const years = String(hourOrderYears)

/** The changes of a zone as an array of the form in which times are stored, and the offsets between them. */
function zoneArray(name: string, items: (timeZone: string) => readonly string[]): Conversion {
  return { name, encode: (timeZone: JsonValue) => `{${items(String(timeZone)).join(',')}}` }
}
const times = zoneArray('changes of zone', timeZone =>
  zoneChanges(timeZone).times.map(time => new Date(time).toISOString()),
)
const offsets = zoneArray('offsets of zone', timeZone => zoneChanges(timeZone).offsets.map(offsetText))

const year: Sql = [`to_char(extract(year FROM w.t)::int - ${years}, 'FM90000')`]
const followedBy = (format: string) => sql`${year} || to_char(w.t, ${[`'${format}'`]})`
const hourStart: Sql = [`extract(epoch FROM date_trunc('hour', w.t) - w.o::interval)`]

const texts: Readonly<Record<DateGroup, Sql>> = {
  year,
  quarter: followedBy('"-Q"Q'),
  month: followedBy('-MM'),
  week: [`to_char(extract(isoyear FROM w.t)::int - ${years}, 'FM90000') || to_char(w.t, '"-W"IW')`],
  day: followedBy('-MM-DD'),
  hour: sql`to_char(${hourStart}, 'FM000000000000') || ${followedBy('-MM-DD"T"HH24":00"')} || w.o`,
}

export function dateGroup(value: Sql, part: DateGroup, zone: number | undefined): Sql {
  const offset: Sql =
    zone === undefined
      ? [`'0'`]
      : sql`(${arg(zone, offsets)}::text[])[width_bucket(v.x COLLATE "C", ${arg(zone, times)}::text[]) + 1]`
  const utc = `((substr(v.x, 1, 4)::int + ${years})::text || substr(v.x, 5, 15))::timestamp`
  // The limits keep the planner from computing the parts several times.
  const located = sql`(SELECT u.o, u.at + u.o::interval AS t FROM (SELECT ${[utc]} AS at, ${offset} AS o FROM (SELECT ${value} AS x LIMIT 1) AS v LIMIT 1) AS u LIMIT 1) AS w`
  return sql`(SELECT ${texts[part]} FROM ${located})`
}
