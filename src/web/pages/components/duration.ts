/** Durations in words. */
import type { Message } from '../../../base/html.ts'
import { formatted } from '../../../identity/mail/page-texts.ts'

const units = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
] as const

/** E.g. `1 day`, `90 minutes`: in the largest unit that expresses it exactly. */
export function duration(seconds: number): Message {
  const [length, unit] = units.find(([length]) => seconds >= length && seconds % length === 0) ?? [
    1,
    'second',
  ]
  return formatted(locale =>
    new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long', useGrouping: false }).format(
      seconds / length,
    ),
  )
}
