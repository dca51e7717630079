/** Schedules of jobs: words or cron expressions, in a time zone. */
import { Cron } from 'croner'
import { didYouMean } from '../suggest.ts'
import { timeZoneOf } from '../time-zone.ts'
import { hourMs, nextDue } from './clock-changes.ts'

/** Times are in milliseconds since 1970. */
export interface Schedule {
  /** The first due time after a moment. */
  next(after: number): number | undefined
  /** The last due time at or before `until`; undefined if there is none after `after`. */
  last(until: number, after: number): number | undefined
}

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const minutes = [2, 3, 4, 5, 6, 10, 12, 15, 20, 30]
const hours = [2, 3, 4, 6, 8, 12]

interface ScheduleForm {
  /** A schedule of this form, for messages. */
  readonly example: string
  readonly pattern: RegExp
  /** The cron expression; undefined if the number is not allowed. */
  readonly cron: (groups: readonly (string | undefined)[]) => string | undefined
}

const timeOfDay = '([01]\\d|2[0-3]):([0-5]\\d)'
const optionalTime = `(?: at ${timeOfDay})?`
const ifAllowed = (allowed: readonly number[], number: string | undefined, cron: string) =>
  allowed.includes(Number(number)) ? cron : undefined
const minuteAndHour = (hour: string | undefined, minute: string | undefined) =>
  `${Number(minute ?? 0)} ${Number(hour ?? 0)}`

const forms: readonly ScheduleForm[] = [
  { example: 'minute', pattern: /^minute$/, cron: () => '* * * * *' },
  {
    example: '5 minutes',
    pattern: /^(\d+) minutes$/,
    cron: ([, count]) => ifAllowed(minutes, count, `*/${count} * * * *`),
  },
  {
    example: 'hour at :15',
    pattern: /^hour(?: at :([0-5]\d))?$/,
    cron: ([, minute]) => `${Number(minute ?? 0)} * * * *`,
  },
  {
    example: '6 hours',
    pattern: /^(\d+) hours$/,
    cron: ([, count]) => ifAllowed(hours, count, `0 */${count} * * *`),
  },
  {
    example: 'day at 03:00',
    pattern: new RegExp(`^day${optionalTime}$`),
    cron: ([, hour, minute]) => `${minuteAndHour(hour, minute)} * * *`,
  },
  {
    example: 'weekday at 08:30',
    pattern: new RegExp(`^weekday${optionalTime}$`),
    cron: ([, hour, minute]) => `${minuteAndHour(hour, minute)} * * 1-5`,
  },
  {
    example: 'monday at 09:30',
    pattern: new RegExp(`^(${weekdays.join('|')})${optionalTime}$`),
    cron: ([, day = '', hour, minute]) => `${minuteAndHour(hour, minute)} * * ${weekdays.indexOf(day)}`,
  },
  {
    example: 'month on 1 at 06:00',
    pattern: new RegExp(`^month(?: on ([1-9]|1\\d|2[0-8]|last))?${optionalTime}$`),
    cron: ([, day = '1', hour, minute]) => `${minuteAndHour(hour, minute)} ${day === 'last' ? 'L' : day} * *`,
  },
]

const examples = forms.map(({ example }) => example)

/** The cron expression of a schedule. Throws a `RangeError` with the reason. */
export function cronOf(schedule: string): string {
  for (const { pattern, cron } of forms) {
    const groups = pattern.exec(schedule)
    if (groups === null) continue
    const expression = cron(groups)
    if (expression !== undefined) return expression
    const [allowed, unit] = schedule.endsWith('minutes') ? [minutes, 60] : [hours, 24]
    throw new RangeError(
      `\`${schedule}\` does not divide ${unit}. Write one of ${allowed.join(', ')}, or a cron expression.`,
    )
  }
  if (schedule.split(' ').length === 5 && /^[\d*]/.test(schedule)) return schedule
  throw new RangeError(
    `\`${schedule}\` is not a schedule.${didYouMean(schedule, examples)} Write e.g. ${examples.map(example => `\`${example}\``).join(', ')}, or a cron expression of five fields.`,
  )
}

/** Throws a `RangeError` with the reason. */
export function scheduleOf(schedule: string, timeZone: string): Schedule {
  timeZoneOf(timeZone)
  const expression = cronOf(schedule)
  const { nextRun } = openCron(schedule, expression)
  const next = nextDue(timeZone, nextRun, isContinuous(expression))
  if (nextRun(0) === undefined) throw new RangeError(`\`${schedule}\` is never due.`)
  return { next, last: (until, after) => lastDue(next, until, after) }
}

/** Whether it is due every so many minutes or hours, rather than at times of the day: its hours are `*`, a step of `*`, or all. */
function isContinuous(expression: string): boolean {
  const [, hour = ''] = expression.split(' ')
  if (/[*?]/.test(hour)) return true
  const { nextRun } = openCron(expression, `0 ${hour} * * *`)
  return Array.from({ length: 24 }, (_, n) => n * hourMs).every(time => nextRun(time) === time)
}

/** Bisects the time after `after`: up to the last due time, the next one is at or before `until`. */
function lastDue(next: Schedule['next'], until: number, after: number): number | undefined {
  let last: number | undefined
  let [low, high] = [after, until]
  while (low < high) {
    const from = last === undefined ? low : Math.floor((low + high) / 2)
    const due = next(from)
    if (due !== undefined && due <= until) low = last = due
    else if (last === undefined) return undefined
    else high = from
  }
  return last
}

interface CronExpression {
  /** The first time at or after `from` that matches the expression, by a clock that shows UTC. */
  nextRun(this: void, from: number): number | undefined
}

function openCron(schedule: string, expression: string): CronExpression {
  try {
    const cron = new Cron(expression, { timezone: 'UTC', paused: true })
    // Croner excludes the time that it gets.
    return { nextRun: from => cron.nextRun(new Date(from - 1))?.getTime() }
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)
    throw new RangeError(`\`${schedule}\` is not a cron expression: ${reason}.`)
  }
}
