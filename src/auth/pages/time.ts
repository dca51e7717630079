/** Times as pages show them. */
import { type Html, html } from './html.ts'

const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })

const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })

/** A day of UTC. `at`: milliseconds since 1970. */
export function day(at: number): Html {
  return html`<time datetime="${new Date(at).toISOString()}">${dayFormat.format(at)}</time>`
}

/** `at`: milliseconds since 1970. */
export function time(at: number): Html {
  const date = new Date(at)
  return html`<time datetime="${date.toISOString()}">${format.format(date)} UTC</time>`
}
