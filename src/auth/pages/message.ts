/** Pages that only say something. */
import { button, form } from './form.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'

export interface Message {
  readonly title: string
  readonly paragraphs: readonly string[]
  readonly link?: { readonly href: string; readonly label: string } | undefined
}

export function messagePage({ title, paragraphs, link }: Message): Page {
  const content = html`<h1>${title}</h1>
${paragraphs.map(text => html`<p>${text}</p>`)}
${link && html`<p><a href="${link.href}">${link.label}</a></p>`}`
  return { title, content }
}

/** An error that no app can be told of. `error` is the protocol's own name for it. */
export function errorPage({
  error,
  description,
}: {
  readonly error: string
  readonly description: string | undefined
}): Page {
  const content = html`<h1>This does not work</h1>
<p>The app that sent you here made a request that cannot be answered. Nothing was shared with it.</p>
<p>Go back to the app and try again. If it goes on, tell the people who make it:</p>
<div class="card"><dl><dt>Error</dt><dd><code>${error}</code></dd>${description !== undefined && html`<dt>Detail</dt><dd>${description}</dd>`}</dl></div>`
  return { title: 'This does not work', content, faulty: true }
}

export interface SignOutPage {
  readonly action: string
  readonly hidden: Readonly<Record<string, string>>
}

export function signOutPage({ action, hidden }: SignOutPage): Page {
  const content = html`<h1>Sign out?</h1>
<p>An app asks to end your session in this browser.</p>
${form({ action, hidden }, html`<div class="buttons">${button('Sign out', undefined, { name: 'logout', value: 'yes' })}${button('Stay signed in', 'plain')}</div>`)}`
  return { title: 'Sign out', content }
}
