/**
 * When schedules are due while the clocks of a time zone change. All times are in milliseconds since 1970; a *wall time* is what
 * the clocks of the zone show, as if they showed UTC.
 */
import { changeIn, offsetsOf } from '../time-zone.ts'

export const hourMs = 3_600_000
/** No zone changes its clocks twice within a day, nor by more than a day. */
const dayMs = 24 * hourMs

/**
 * The first due time after a moment. `nextRun`: the first wall time at or after another that the schedule names. A time that
 * the clocks skip is due right after the change, a time that they show twice at the first. `isContinuous`: it is due whenever
 * the clocks show the time.
 */
export function nextDue(
  timeZone: string,
  nextRun: (wall: number) => number | undefined,
  isContinuous: boolean,
): (after: number) => number | undefined {
  const offsetAt = offsetsOf(timeZone)
  return after => {
    for (let from = after + 1; ; ) {
      const offset = offsetAt(from)
      const change = isContinuous ? undefined : changeIn(offsetAt, from - dayMs, from)
      const wallAtChange = change === undefined ? 0 : change + offsetAt(change - 1)
      const isSkipped = change === from && (nextRun(wallAtChange) ?? from + offset) < from + offset
      if (isSkipped) return from
      const run = nextRun(Math.max(from + offset, wallAtChange))
      if (run === undefined) return undefined
      const due = run - offset
      const nextChange = changeIn(offsetAt, from, from + dayMs)
      if (nextChange !== undefined && nextChange <= due) from = nextChange
      else if (due <= from + dayMs) return due
      else from = Math.max(from + dayMs, due - dayMs)
    }
  }
}
