/** The parts of dates and times by which aggregates group, as ISO 8601 writes them: `2026`, `2026-Q1`, `2026-03`, `2026-W13`, … */
import { type ZoneChanges, zoneChanges } from '../time-zone.ts'

/** Of a time in UTC, these are prefixes of its text. The length of each in characters. */
export const datePrefixLengths = { year: 4, month: 7, day: 10, hour: 13 } as const

export type DatePrefix = keyof typeof datePrefixLengths
export type DateGroup = DatePrefix | 'quarter' | 'week'

/** Of a date, all but the hour. */
export const dateGroups: readonly DateGroup[] = ['year', 'quarter', 'month', 'week', 'day']
export const timeGroups: readonly DateGroup[] = [...dateGroups, 'hour']

/**
 * An hour in a time zone is preceded by its beginning, in this many digits: clocks that are set back show it twice, and texts
 * do not sort by their offsets.
 */
export const hourOrderLength = 12
/** The beginning is counted from this many years before 1970, so that it is never negative. */
export const hourOrderYears = 2000

const dateLength = 10
const dayMs = 86_400_000
const hourMs = 3_600_000
const orderShift = Date.UTC(1970, 0) - Date.UTC(1970 - hourOrderYears, 0)

/** `+01:00`, `-00:44:30` */
export function offsetText(offset: number): string {
  const seconds = Math.abs(offset) / 1000
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(part => padded(Math.floor(part), 2))
  return `${offset < 0 ? '-' : '+'}${(seconds % 60 === 0 ? parts.slice(0, 2) : parts).join(':')}`
}

/** The offset of a zone at a time. */
function offsetAt({ times, offsets }: ZoneChanges, time: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((times[middle] ?? 0) <= time) low = middle + 1
    else high = middle
  }
  return offsets[low] ?? 0
}

function padded(number: number, length: number): string {
  return `${number < 0 ? '-' : ''}${String(Math.abs(number)).padStart(length, '0')}`
}

/** The year and number of a week: that of its Thursday (ISO 8601). */
function weekText(wall: Date): string {
  const weekday = (wall.getUTCDay() + 6) % 7
  const thursday = new Date(wall.getTime() + (3 - weekday) * dayMs)
  const year = thursday.getUTCFullYear()
  const dayOfYear = Math.floor((thursday.getTime() - new Date(thursday).setUTCMonth(0, 1)) / dayMs)
  return `${padded(year, 4)}-W${padded(Math.floor(dayOfYear / 7) + 1, 2)}`
}

/** A day that the clocks of a zone show, or an hour: from and until two times, as texts, its times are in the same group. */
interface Span {
  readonly timeZone: unknown
  readonly from: string
  readonly until: string
  readonly text: string
}

/** The last span of each part: rows that follow each other are often of the same day. */
const lastSpans = new Map<unknown, Span>()

/**
 * The part of a stored date or time. SQLite calls it for each row; for PostgreSQL, `engine/store/sql/postgres-dates.ts` says the
 * same. `timeZone`: null for UTC.
 */
export function dateGroupOf(value: unknown, part: unknown, timeZone: unknown): string | null {
  if (value === null) return null
  const stored = String(value)
  // The text of a date is less than that of its first moment.
  const isTime = stored.length > dateLength
  const last = isTime ? lastSpans.get(part) : undefined
  if (last && stored >= last.from && stored < last.until && timeZone === last.timeZone) return last.text
  const time = Date.parse(stored)
  const offsetOf = (at: number) => (timeZone === null ? 0 : offsetAt(zoneChanges(String(timeZone)), at))
  const offset = offsetOf(time)
  const text = groupText(time, offset, part as DateGroup)
  const spanMs = part === 'hour' ? hourMs : dayMs
  const from = Math.floor((time + offset) / spanMs) * spanMs - offset
  const until = from + spanMs
  // Clocks that are changed within the span may show another day or hour before or after.
  if (isTime && offsetOf(from) === offset && offsetOf(until - 1) === offset) {
    lastSpans.set(part, { timeZone, from: isoText(from), until: isoText(until), text })
  }
  return text
}

function isoText(time: number): string {
  return new Date(time).toISOString()
}

function groupText(time: number, offset: number, part: DateGroup): string {
  const wall = new Date(time + offset)
  const year = padded(wall.getUTCFullYear(), 4)
  const month = padded(wall.getUTCMonth() + 1, 2)
  const day = `${year}-${month}-${padded(wall.getUTCDate(), 2)}`
  switch (part) {
    case 'year':
      return year
    case 'quarter':
      return `${year}-Q${Math.ceil((wall.getUTCMonth() + 1) / 3)}`
    case 'month':
      return `${year}-${month}`
    case 'week':
      return weekText(wall)
    case 'day':
      return day
    case 'hour': {
      const beginning = Math.floor(wall.getTime() / hourMs) * hourMs - offset
      const order = padded((beginning + orderShift) / 1000, hourOrderLength)
      return `${order}${day}T${padded(wall.getUTCHours(), 2)}:00${offsetText(offset)}`
    }
  }
}
