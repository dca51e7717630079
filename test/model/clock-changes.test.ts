/**
 * Schedules while clocks change, compared with a reference that looks at the clock minute by minute. `PORTICO_MATRIX=whole`: in
 * every time zone; otherwise in a sample that `PORTICO_SEED` chooses.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scheduleOf } from '../../src/model/logic/schedule.ts'
import { isWhole, seed } from '../cases.ts'

const minuteMs = 60_000
const dayMs = 1440 * minuteMs

/** Shows `2026-03-29 02:30` at a time. */
function clockOf(timeZone: string): (time: number) => string {
  const date = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  return time => date.format(time)
}

/** The days of a year within which the clocks are set, by their beginning in UTC. */
function daysOfChanges(timeZone: string, year: number): readonly number[] {
  const show = clockOf(timeZone)
  const offset = (time: number) => Date.parse(`${show(time).replace(' ', 'T')}Z`) - time
  const days = Array.from({ length: 366 }, (_, day) => Date.UTC(year, 0, 1) + day * dayMs)
  return days.filter(day => offset(day) !== offset(day + dayMs))
}

interface Case {
  readonly schedule: string
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  /** Whether it is due whenever the clock shows the time. */
  readonly isContinuous?: boolean
  /** 0: Sunday. */
  readonly weekday?: number
}

const every = (step: number, end: number, from = 0) =>
  Array.from({ length: Math.ceil((end - from) / step) }, (_, n) => from + n * step)
const allHours = every(1, 24)

const cases: readonly Case[] = [
  { schedule: 'day', minutes: [0], hours: [0] },
  { schedule: 'day at 02:30', minutes: [30], hours: [2] },
  { schedule: 'day at 01:59', minutes: [59], hours: [1] },
  { schedule: '15 23 * * *', minutes: [15], hours: [23] },
  { schedule: 'sunday at 00:30', minutes: [30], hours: [0], weekday: 0 },
  { schedule: '*/30 2 * * *', minutes: [0, 30], hours: [2] },
  { schedule: '*/7 0 * * *', minutes: every(7, 60), hours: [0] },
  { schedule: '*/5 1 * * *', minutes: every(5, 60), hours: [1] },
  { schedule: '0 0,12 * * *', minutes: [0], hours: [0, 12] },
  { schedule: '0 0,2,4,6 * * *', minutes: [0], hours: [0, 2, 4, 6] },
  { schedule: '10,40 1,2,3 * * 0', minutes: [10, 40], hours: [1, 2, 3], weekday: 0 },
  { schedule: '5-8 0-3 * * *', minutes: [5, 6, 7, 8], hours: [0, 1, 2, 3] },
  { schedule: '20 0-23/2 * * *', minutes: [20], hours: every(2, 24) },
  { schedule: '*/20 22-23 * * *', minutes: [0, 20, 40], hours: [22, 23] },
  { schedule: '20 minutes', minutes: [0, 20, 40], hours: allHours, isContinuous: true },
  { schedule: 'hour at :45', minutes: [45], hours: allHours, isContinuous: true },
  { schedule: '45 0-23 * * *', minutes: [45], hours: allHours, isContinuous: true },
  { schedule: '2 hours', minutes: [0], hours: every(2, 24), isContinuous: true },
  { schedule: '10,50 */3 * * *', minutes: [10, 50], hours: every(3, 24), isContinuous: true },
]

interface Minute {
  readonly time: number
  readonly shown: string
}

const dayCount = 3

/** Each minute of the day of a change, the day before and the day after. */
function minutesAround(timeZone: string, day: number): readonly Minute[] {
  const show = clockOf(timeZone)
  return Array.from({ length: dayCount * 1440 }, (_, n) => {
    const time = day - dayMs + n * minuteMs
    return { time, shown: show(time) }
  })
}

/** The times that a calendar names, whether or not the clocks show them, as the clocks would show them. */
function namedTimes({ minutes, hours, weekday }: Case, from: number): readonly string[] {
  return Array.from({ length: dayCount + 2 }, (_, n) => from + (n - 1) * dayMs).flatMap(day => {
    const date = new Date(day)
    if (weekday !== undefined && date.getUTCDay() !== weekday) return []
    const two = (number: number) => String(number).padStart(2, '0')
    return hours.flatMap(hour =>
      minutes.map(minute => `${date.toISOString().slice(0, 10)} ${two(hour)}:${two(minute)}`),
    )
  })
}

function reference(declared: Case, around: readonly Minute[]): readonly number[] {
  const [first, last] = [around[0]?.time ?? 0, around.at(-1)?.time ?? 0]
  const named = namedTimes(declared, first - (first % dayMs))
  const byShown = Map.groupBy(around, ({ shown }) => shown)
  const due = named.flatMap(text => {
    const showing = byShown.get(text) ?? []
    if (declared.isContinuous) return showing
    // Skipped: the clocks jump over it.
    const jump = around.find(({ shown }, n) => n > 0 && shown > text && (around[n - 1]?.shown ?? '') < text)
    return showing[0] ?? jump ?? []
  })
  const times = new Set(due.map(({ time }) => time).filter(time => time > first && time < last))
  return [...times].sort((one, other) => one - other)
}

function computed({ schedule }: Case, timeZone: string, around: readonly Minute[]): readonly number[] {
  const { next } = scheduleOf(schedule, timeZone)
  const [first, last] = [around[0]?.time ?? 0, around.at(-1)?.time ?? 0]
  const times: number[] = []
  for (let due = next(first); due !== undefined && due < last; due = next(due)) times.push(due)
  return times
}

const isoOf = (times: readonly number[]) => times.map(time => new Date(time).toISOString())

function compare(timeZone: string, day: number): void {
  const around = minutesAround(timeZone, day)
  for (const declared of cases) {
    const place = `${declared.schedule} in ${timeZone}`
    const expected = reference(declared, around)
    assert.deepEqual(isoOf(computed(declared, timeZone, around)), isoOf(expected), place)
    const { last } = scheduleOf(declared.schedule, timeZone)
    const moments = around.filter((_, n) => n % 997 === 7)
    for (const { time } of moments) {
      const before = expected.filter(due => due <= time).at(-1)
      if (before !== undefined) assert.equal(last(time, around[0]?.time ?? 0), before, `last of ${place}`)
    }
  }
}

const always = ['Europe/Berlin', 'America/Santiago', 'Australia/Lord_Howe']

function sampledZones(): readonly string[] {
  const zones = Intl.supportedValuesOf('timeZone')
  return isWhole ? zones : [...always, ...zones.filter((_, n) => n % 140 === seed % 140)]
}

test('schedules are due as documented at every change of the clocks in a year', () => {
  let changes = 0
  for (const zone of sampledZones()) {
    for (const day of daysOfChanges(zone, 2026)) {
      compare(zone, day)
      changes++
    }
  }
  assert.ok(changes >= 2 * always.length)
})

test('schedules are due as documented when a zone skips a whole day', () => {
  for (const day of daysOfChanges('Pacific/Apia', 2011)) compare('Pacific/Apia', day)
})
