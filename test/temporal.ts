/** What tests use of Temporal, a second implementation of time zones and calendars, which the compiler does not know yet. */

interface ZonedTime {
  readonly epochMilliseconds: number
  readonly offset: string
  readonly offsetNanoseconds: number
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly weekOfYear: number
  readonly yearOfWeek: number
  getTimeZoneTransition(direction: 'next'): ZonedTime | null
}

interface Instant {
  readonly epochMilliseconds: number
  toZonedDateTimeISO(timeZone: string): ZonedTime
}

interface TemporalNamespace {
  readonly Instant: { from(text: string): Instant; fromEpochMilliseconds(time: number): Instant }
}

export const { Temporal } = globalThis as unknown as { Temporal: TemporalNamespace }
