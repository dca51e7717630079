/** Placeholders in a declaration for values that are known only when a request is served. */

/** A registered symbol, so that every copy of this module in the process recognises the markers. */
export const marker: unique symbol = Symbol.for('portico.marker')

export type MarkerName = 'now' | 'currentUser' | 'currentApp' | 'uuid'

/** `now`, `currentUser`, `currentApp` or `randomUuid`: stands for a value in a default or a rule. */
export interface Marker<Name extends MarkerName = MarkerName> {
  readonly [marker]: Name
}

/** A length of time. Weeks are the largest unit, because months differ in length. */
export interface Duration {
  readonly weeks?: number
  readonly days?: number
  readonly hours?: number
  readonly minutes?: number
  readonly seconds?: number
}

/** A moment before or after now, for rules. */
export interface ShiftedNow {
  readonly [marker]: 'shiftedNow'
  readonly shiftMs: number
}

const unitsMs: Readonly<Record<keyof Duration, number>> = {
  weeks: 604_800_000,
  days: 86_400_000,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1_000,
}

/** NaN for an invalid duration, which `checkModel` reports. */
export function millisecondsOf(duration: Duration): number {
  const parts = Object.entries(duration ?? { none: Number.NaN })
  return parts.reduce((sum, [unit, count]) => sum + unitsMs[unit as keyof Duration] * Number(count), 0)
}

function shifted(shiftMs: number): ShiftedNow {
  return Object.freeze({ [marker]: 'shiftedNow' as const, shiftMs })
}

/** The time of the write; in a rule the time of the request, also shifted: `now.minus({ minutes: 15 })`. */
export const now: Marker<'now'> & {
  plus(duration: Duration): ShiftedNow
  minus(duration: Duration): ShiftedNow
} = Object.freeze({
  [marker]: 'now' as const,
  plus: (duration: Duration) => shifted(millisecondsOf(duration)),
  minus: (duration: Duration) => shifted(-millisecondsOf(duration)),
})

/** The id of the caller. */
export const currentUser: Marker<'currentUser'> = Object.freeze({ [marker]: 'currentUser' as const })

/** The id of the app through which the caller acts; null without one. */
export const currentApp: Marker<'currentApp'> = Object.freeze({ [marker]: 'currentApp' as const })

/** A fresh random UUID (RFC 9562, version 4). */
export const randomUuid: Marker<'uuid'> = Object.freeze({ [marker]: 'uuid' as const })

/** The name that declarations use for it. */
export const markerNames: Readonly<Record<MarkerName, string>> = {
  now: 'now',
  currentUser: 'currentUser',
  currentApp: 'currentApp',
  uuid: 'randomUuid',
}

function nameOf(value: unknown): MarkerName | 'shiftedNow' | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return (value as Partial<Marker | ShiftedNow>)[marker]
}

/** The marker's name; undefined for any other value. */
export function markerOf(value: unknown): MarkerName | undefined {
  const name = nameOf(value)
  return name === 'shiftedNow' ? undefined : name
}

/** The shift of `now` or a shifted `now`, in milliseconds; undefined for any other value. */
export function shiftOf(value: unknown): number | undefined {
  const name = nameOf(value)
  if (name === 'now') return 0
  return name === 'shiftedNow' ? (value as ShiftedNow).shiftMs : undefined
}
