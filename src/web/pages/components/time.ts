/** Dates, times, numbers and countries on pages, in the language of their reader. */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import { type Html, html, type Message, type Part } from '../../../base/html.ts'
import { formatted, t } from '../../../identity/mail/page-texts.ts'

const dayFormat = { dateStyle: 'long', timeZone: 'UTC' } as const
const timeFormat = { ...dayFormat, timeStyle: 'short' } as const

/** A day in UTC, as plain text. */
export function dayText(at: EpochMs): Message {
  return formatted(locale => new Intl.DateTimeFormat(locale, dayFormat).format(at))
}

function timeText(at: EpochMs): Message {
  return formatted(locale => `${new Intl.DateTimeFormat(locale, timeFormat).format(at)} UTC`)
}

/** E.g. `1,000`. */
export function number(value: number): Message {
  return formatted(locale => new Intl.NumberFormat(locale).format(value))
}

/** Undefined if there is no such country. */
export function countryName(code: string): Message | undefined {
  const nameIn = (locale: string) =>
    new Intl.DisplayNames(locale, { type: 'region', fallback: 'none' }).of(code)
  return nameIn('en') === undefined ? undefined : formatted(locale => nameIn(locale) ?? code)
}

function element(at: EpochMs, words: Part, title?: Message): Html {
  return html`<time datetime="${new Date(at).toISOString()}"${title && html` title="${title}"`}>${words}</time>`
}

/** A day in UTC. */
export function day(at: EpochMs): Html {
  return element(at, dayText(at))
}

const hourMs = 60 * 60 * 1000

/** How long ago it was, in hours or days; after a month, the date. */
export function ago(at: EpochMs, now: EpochMs): Part {
  const hours = Math.floor((now - at) / hourMs)
  const [count, unit] = hours < 24 ? ([hours, 'hour'] as const) : ([Math.floor(hours / 24), 'day'] as const)
  if (hours < 1) return element(at, t('within the last hour'), timeText(at))
  if (hours >= 24 * 30) return t('on {day}', { day: day(at) })
  const words = formatted(locale =>
    new Intl.RelativeTimeFormat(locale, { numeric: 'always' }).format(-count, unit),
  )
  return element(at, words, timeText(at))
}

export function time(at: EpochMs): Html {
  return element(at, timeText(at))
}
