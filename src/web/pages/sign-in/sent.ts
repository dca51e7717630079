/** "Check your mail": where a link was sent, how to correct the address, and how to get the link again. */

import { type Html, html, type Part, type Text } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { button, form } from '../components/form.ts'
import { icon } from '../components/icons.ts'
import type { Page } from '../frame/layout.ts'

export interface SentPage {
  readonly email: string
  /** The sentence that names the address. */
  readonly sent: (email: Html) => Part
  readonly note?: Text
  /** Where the form goes that sends the link again, with its hidden fields. */
  readonly action: string
  readonly csrf: string
  readonly again: Readonly<Record<string, string>>
  /** The page with the form in which the address was entered. */
  readonly correct: string
  readonly signIn: string
}

export function sentPage({ email, sent, note, action, csrf, again, correct, signIn }: SentPage): Page {
  const content = html`<p class="mark faint">${icon('mail', 32)}</p>
<h1>${t('Check your mail')}</h1>
<p>${sent(html`<strong>${email}</strong>`)}</p>
${note !== undefined && html`<p>${note}</p>`}
<p class="faint">${t('Nothing there? Look among the unwanted mail, too. If the address is wrong, {link}.', { link: html`<a href="${correct}">${t('correct it')}</a>` })}</p>
${form({ action, csrf, hidden: again }, html`<div class="buttons">${button(t('Send it again'), 'plain')}</div>`)}
<p class="foot"><a href="${signIn}">${t('Back to sign-in')}</a></p>`
  return { title: t('Check your mail'), content }
}
