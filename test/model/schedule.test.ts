/** Schedules of jobs: phrases, cron expressions, time zones, and changes of the clock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cronOf, scheduleOf } from '../../src/model/logic/schedule.ts'

const dueTimes = (schedule: string, timeZone: string, after: string, count: number) => {
  const { next } = scheduleOf(schedule, timeZone)
  const times: string[] = []
  for (let time = Date.parse(after); times.length < count; ) {
    const due = next(time)
    if (due === undefined) break
    times.push(new Date(due).toISOString())
    time = due
  }
  return times
}

test('phrases are translated into cron expressions', () => {
  const expected = {
    minute: '* * * * *',
    '5 minutes': '*/5 * * * *',
    hour: '0 * * * *',
    'hour at :15': '15 * * * *',
    '6 hours': '0 */6 * * *',
    day: '0 0 * * *',
    'day at 03:05': '5 3 * * *',
    'weekday at 08:30': '30 8 * * 1-5',
    'monday at 09:30': '30 9 * * 1',
    sunday: '0 0 * * 0',
    month: '0 0 1 * *',
    'month on 15 at 06:00': '0 6 15 * *',
    'month on last at 23:00': '0 23 L * *',
    '*/7 2 * * 1': '*/7 2 * * 1',
  }
  for (const [schedule, cron] of Object.entries(expected)) assert.equal(cronOf(schedule), cron)
})

test('an invalid schedule is refused with the reason', () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['dya at 03:00', /Did you mean `day at 03:00`/],
    ['day at 24:00', /not a schedule/],
    ['7 minutes', /does not divide 60/],
    ['5 hours', /does not divide 24/],
    ['month on 30 at 06:00', /not a schedule/],
    ['61 * * * *', /not a cron expression/],
    ['0 0 30 2 *', /never due/],
    ['* * * * * *', /not a schedule/],
    ['', /not a schedule/],
  ]
  for (const [schedule, reason] of refused) assert.throws(() => scheduleOf(schedule, 'UTC'), reason)
  assert.throws(() => scheduleOf('day', 'Europe/Berlinn'), /Did you mean `Europe\/Berlin`/)
})

test('a local time skipped by a change of the clock is due once, right after the change', () => {
  assert.deepEqual(dueTimes('day at 02:30', 'Europe/Berlin', '2026-03-28T00:00:00Z', 3), [
    '2026-03-28T01:30:00.000Z',
    '2026-03-29T01:00:00.000Z',
    '2026-03-30T00:30:00.000Z',
  ])
})

test('a local time that occurs twice is due once', () => {
  assert.deepEqual(dueTimes('day at 02:30', 'Europe/Berlin', '2026-10-24T00:00:00Z', 3), [
    '2026-10-24T00:30:00.000Z',
    '2026-10-25T00:30:00.000Z',
    '2026-10-26T01:30:00.000Z',
  ])
})

test('a schedule of every 30 minutes is also due in the repeated hour', () => {
  const times = dueTimes('30 minutes', 'Europe/Berlin', '2026-10-24T23:50:00Z', 6)
  assert.equal(Date.parse(times[5] ?? '') - Date.parse(times[0] ?? ''), 5 * 1_800_000)
})

test('a daily schedule is due once a day throughout a year, in zones whose clocks change', () => {
  for (const zone of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Beirut']) {
    for (const schedule of ['day at 02:30', 'day at 00:15', 'day at 01:59']) {
      const times = dueTimes(schedule, zone, '2026-01-01T00:00:00Z', 366).map(Date.parse)
      const gaps = times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 3_600_000)
      assert.ok(
        gaps.every(gap => gap >= 22 && gap <= 26),
        `${zone} ${schedule}: ${gaps}`,
      )
    }
  }
})

test('`last` returns the latest due time up to and including a moment', () => {
  const { last } = scheduleOf('hour', 'UTC')
  const timeOf = (text: string) => Date.parse(`2026-01-01T${text}Z`)
  assert.equal(last(timeOf('05:30:00'), timeOf('01:00:00')), timeOf('05:00:00'))
  assert.equal(last(timeOf('05:00:00'), timeOf('01:00:00')), timeOf('05:00:00'))
  assert.equal(last(timeOf('04:59:59'), timeOf('04:00:00')), undefined)
  assert.equal(
    last(timeOf('04:59:59.500'), timeOf('01:00:00')),
    timeOf('04:00:00'),
    'within the second before the next due time',
  )
  assert.equal(last(timeOf('04:59:59.999'), timeOf('04:00:00')), undefined)
})
