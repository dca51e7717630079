/** Dates and times on pages. */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import { type Html, html } from '../../../base/html.ts'

const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })

const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })

/** A day in UTC, as plain text. */
export function dayText(at: EpochMs): string {
  return dayFormat.format(at)
}

/** A day in UTC. */
export function day(at: EpochMs): Html {
  return html`<time datetime="${new Date(at).toISOString()}">${dayText(at)}</time>`
}

const hourMs = 60 * 60 * 1000
const relative = new Intl.RelativeTimeFormat('en-GB', { numeric: 'always' })

/** How long ago it was, in hours or days; after a month, the date. */
export function ago(at: EpochMs, now: EpochMs): Html {
  const hours = Math.floor((now - at) / hourMs)
  if (hours < 1) return marked(at, html`within the last hour`)
  if (hours < 24) return marked(at, html`${relative.format(-hours, 'hour')}`)
  if (hours < 24 * 30) return marked(at, html`${relative.format(-Math.floor(hours / 24), 'day')}`)
  return html`on ${day(at)}`
}

function marked(at: EpochMs, words: Html): Html {
  const date = new Date(at)
  return html`<time datetime="${date.toISOString()}" title="${format.format(date)} UTC">${words}</time>`
}

export function time(at: EpochMs): Html {
  const date = new Date(at)
  return html`<time datetime="${date.toISOString()}">${format.format(date)} UTC</time>`
}
