/** Pages with a message only, and error pages. */

import type { EpochMs } from '../../../base/epoch-ms.ts'
import { attributes, type Html, html, type Part, type Text } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { button, form } from '../components/form.ts'
import { type Icon, icon } from '../components/icons.ts'
import type { Page } from './layout.ts'

export interface MessageLink {
  readonly href: string
  readonly label: Part
}

export interface MessagePage {
  readonly title: Text
  readonly paragraphs: readonly Text[]
  readonly link?: MessageLink | undefined
  readonly icon?: Icon | undefined
}

/** The icon above the heading. */
function headingIcon(iconName: Icon, tone: 'good' | 'attention' | 'faint'): Html {
  return html`<p class="${`mark ${tone}`}">${icon(iconName, 32)}</p>`
}

function linkLike(kind: string, { href, label }: MessageLink): Html {
  // Other sites must not learn the address of the page.
  const rel = href.startsWith('/') ? undefined : 'noopener noreferrer nofollow'
  return html`<a${attributes({ class: kind, href, rel })}>${label}</a>`
}

export function messagePage({ title, paragraphs, link, icon: iconName }: MessagePage): Page {
  const content = html`${iconName && headingIcon(iconName, iconName === 'check' ? 'good' : 'faint')}
<h1>${title}</h1>
${paragraphs.map(text => html`<p>${text}</p>`)}
${link && html`<p class="buttons">${linkLike('button plain', link)}</p>`}`
  return { title, content }
}

/** Details for the people who can fix the error. */
export interface FaultDetails {
  readonly code: string
  readonly message?: string | undefined
  readonly requestId: string
  readonly at: EpochMs
}

export interface FaultPage {
  readonly title: Part
  /** The title of the document, without markup. */
  readonly name: Text
  readonly paragraphs: readonly Part[]
  /** What the user can do now. */
  readonly remedy?: MessageLink | undefined
  /** Another page to go to. */
  readonly elsewhere: MessageLink
  /** The picture above the heading; omitted: an icon. */
  readonly tile?: Html | undefined
  readonly icon?: Icon | undefined
  /** The label of the details, which says for whom they are. */
  readonly readers: Text
  readonly details: FaultDetails
}

function detailsOf({ readers, details: { code, message, requestId, at } }: FaultPage): Html {
  return html`<details class="fold"><summary>${readers}</summary>
<dl><dt>${t('Error')}</dt><dd><code>${code}</code></dd>
${message !== undefined && html`<dt>${t('Detail')}</dt><dd>${message}</dd>`}
<dt>${t('Request')}</dt><dd><code>${requestId}</code></dd>
<dt>${t('Time')}</dt><dd><code>${new Date(at).toISOString()}</code></dd></dl></details>`
}

export function faultPage(fault: FaultPage): Page {
  const { title, name, paragraphs, remedy, elsewhere, tile, icon: iconName = 'attention' } = fault
  const content = html`${tile ? html`<p class="mark">${tile}</p>` : headingIcon(iconName, 'attention')}
<h1>${title}</h1>
${paragraphs.map(text => html`<p>${text}</p>`)}
<p class="buttons">${remedy && linkLike('button', remedy)}${linkLike('button plain', elsewhere)}</p>
${detailsOf(fault)}`
  return { title: name, content, faulty: true }
}

export interface SignOutPage {
  readonly action: string
  readonly hidden: Readonly<Record<string, string>>
}

export function signOutPage({ action, hidden }: SignOutPage): Page {
  const content = html`<h1>${t('Sign out?')}</h1>
<p>${t('An app asks to end your session in this browser.')}</p>
${form({ action, hidden }, html`<div class="buttons">${button(t('Sign out'), undefined, { name: 'logout', value: 'yes' })}${button(t('Stay signed in'), 'plain')}</div>`)}`
  return { title: t('Sign out'), content }
}
