/**
 * Time zones by the database of the runtime (Intl), which is the only one: databases get its changes as values. All times are in
 * milliseconds since 1970.
 */
import { didYouMean } from './suggest.ts'

export type OffsetAt = (time: number) => number

/** The name of a zone as the runtime spells it. Throws a `RangeError` with the reason. */
export function timeZoneOf(name: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    const timeZones = [...Intl.supportedValuesOf('timeZone'), 'UTC']
    throw new RangeError(
      `\`${name.slice(0, 60)}\` is not a time zone.${didYouMean(name, timeZones)} Write an IANA name, e.g. \`Europe/Berlin\`.`,
    )
  }
}

/** What the clocks of a zone show minus the time. */
export function offsetsOf(timeZone: string): OffsetAt {
  const clock = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  return time => {
    const shown = clock.format(time)
    return offsetIn(shown.slice(shown.indexOf('GMT') + 3))
  }
}

/** `text`: e.g. `+01:00`, `-00:44:30`, or nothing. */
function offsetIn(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.slice(1).split(':').map(Number)
  const size = ((hours * 60 + minutes) * 60 + seconds) * 1000
  return text.startsWith('-') ? -size : size
}

/** The time of the change after `from`, up to and including `until`. */
export function changeIn(offsetAt: OffsetAt, from: number, until: number): number | undefined {
  const offset = offsetAt(from)
  if (offsetAt(until) === offset) return undefined
  let [before, after] = [from, until]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (offsetAt(middle) === offset) before = middle
    else after = middle
  }
  return after
}

/** The changes of a zone from 1900 to 2099, in order. `offsets`: first the one before all changes. */
export interface ZoneChanges {
  readonly times: readonly number[]
  readonly offsets: readonly number[]
}

const [firstChange, lastChange] = [Date.UTC(1900, 0), Date.UTC(2100, 0)]
/** Less than the time between any two changes of a zone: `test/model/time-zone.test.ts`. */
const stepMs = 5 * 86_400_000

/** By the names of the runtime, of which there are a few hundred. */
const changesByZone = new Map<string, ZoneChanges>()

/** `timeZone`: as from `timeZoneOf`. The first call for a zone takes up to 80 ms. */
export function zoneChanges(timeZone: string): ZoneChanges {
  const known = changesByZone.get(timeZone)
  if (known !== undefined) return known
  // There are thousands of `+05:30`, which have no changes.
  if (/^[+-]/.test(timeZone)) return { times: [], offsets: [offsetIn(timeZone)] }
  const offsetAt = offsetsOf(timeZone)
  const times: number[] = []
  const offsets = [offsetAt(firstChange)]
  for (let from = firstChange; from < lastChange; ) {
    const next = from + stepMs
    const change = offsetAt(next) === offsets.at(-1) ? undefined : changeIn(offsetAt, from, next)
    if (change !== undefined) {
      times.push(change)
      offsets.push(offsetAt(change))
    }
    from = change ?? next
  }
  const changes = { times, offsets }
  changesByZone.set(timeZone, changes)
  return changes
}
