/**
 * When schedules are due while the clocks of a time zone change. All times are in milliseconds since 1970; a *wall time* is what
 * the clocks of the zone show, as if they showed UTC.
 */

export const hourMs = 3_600_000
/** No zone changes its clocks twice within a day, nor by more than a day. */
const dayMs = 24 * hourMs

type OffsetAt = (time: number) => number

/** What the clocks of a zone show minus the time. */
function offsetsOf(timeZone: string): OffsetAt {
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  })
  return time => {
    const shown = new Map(clock.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
    const part = (type: Intl.DateTimeFormatPartTypes) => shown.get(type) ?? 0
    const date = [part('year'), part('month') - 1, part('day')] as const
    const wall = Date.UTC(...date, part('hour'), part('minute'), part('second'))
    return wall - Math.floor(time / 1000) * 1000
  }
}

/** The time of the change after `from`, up to and including `until`. */
function changeIn(offsetAt: OffsetAt, from: number, until: number): number | undefined {
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
