/** Times as pages show them. */
import { type Html, html } from './html.ts'

const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })

/** `at`: milliseconds since 1970. */
export function time(at: number): Html {
  const date = new Date(at)
  return html`<time datetime="${date.toISOString()}">${format.format(date)} UTC</time>`
}
