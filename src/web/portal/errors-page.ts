/** `/docs/errors`: the catalogue of errors. The `type` of every error (RFC 9457) links to its row. */

import { catalogue } from '../../base/errors.ts'
import { html, type Part } from '../../base/html.ts'
import { t } from '../../identity/mail/page-texts.ts'
import type { Page, Visitor } from '../pages/frame/layout.ts'
import type { Guide } from './guides/catalogue.ts'
import { guideMenu } from './guides/pages.ts'

/** A text with code in backticks. */
function withCode(text: string): Part {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))
}

export function errorsPage(guides: readonly Guide[], visitor: Visitor): Page {
  const rows = Object.entries(catalogue).map(
    ([code, { status, message, hint }]) =>
      html`<tr id="${code}"><th scope="row"><code>${code}</code></th><td>${status}</td><td>${message}</td><td>${withCode(hint)}</td></tr>
`,
  )
  const content = html`<div class="columns">
${guideMenu(guides, 'errors')}
<main id="content" class="prose broad">
<h1>${t('Errors')}</h1>
<p>${t('Every error is `{form}`; with `Accept: application/problem+json` it has the form of RFC 9457. The code is stable; the message is for people.', { form: '{"error":{"code","message"}}' })}</p>
<table class="errors" lang="en">
<thead><tr><th scope="col">${t('Code')}</th><th scope="col">${t('Status')}</th><th scope="col">${t('Message')}</th><th scope="col">${t('What to do')}</th></tr></thead>
<tbody>
${rows}</tbody>
</table>
</main>
</div>`
  return { title: t('Errors'), layout: 'reading', place: 'guides', content, visitor }
}
