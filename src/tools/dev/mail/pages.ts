/** The pages of `/dev/mail`. */
import { attributes, type Html, html, named, type Part } from '../../../base/html.ts'
import { printable } from '../../../base/printable.ts'
import type { Page } from '../../../web/pages/frame/layout.ts'
import type { StoredMail } from './mailbox.ts'

export const mailPath = '/dev/mail'
export const templatesPath = `${mailPath}/templates`

const entries = [
  [mailPath, 'Sent'],
  [templatesPath, 'Templates'],
] as const

function page(title: string, currentPath: string | undefined, content: Part): Page {
  const links = entries.map(
    ([path, name]) =>
      html`<a${attributes({ href: path, 'aria-current': path === currentPath && 'page' })}>${name}</a>`,
  )
  const framed = html`<main id="content" class="wide mails"><nav class="local" aria-label="Mails">${links}</nav>
${content}
</main>`
  return { title, layout: 'reading', visitor: 'user', content: framed }
}

function time(ms: number): Html {
  const date = new Date(ms)
  return html`<time datetime="${date.toISOString()}">${date.toLocaleTimeString('en-GB')}</time>`
}

const languageNames = new Intl.DisplayNames('en', { type: 'language' })

function languageName(tag: string): string {
  return `${languageNames.of(tag) ?? tag} (${tag})`
}

function safeText(text: string): Html {
  return named(printable(text))
}

function row({ id, at, to, subject, language }: StoredMail): Html {
  return html`<tr><td class="nowrap faint">${time(at)}</td><td>${safeText(to)}</td>
<td><a class="subject" href="${mailPath}/${id}">${safeText(subject)}</a></td><td class="faint">${language !== undefined && languageName(language)}</td></tr>`
}

export function listPage(mails: readonly StoredMail[], delivers: boolean): Page {
  const delivery = delivers
    ? html`They were sent by the mail server of <code>mail.smtp</code>.`
    : 'They were not sent: no mail server is configured.'
  const table = html`<div class="scrolled"><table>
<thead><tr><th scope="col">Time</th><th scope="col">To</th><th scope="col">Subject</th><th scope="col">Language</th></tr></thead>
<tbody>${mails.map(row)}</tbody></table></div>`
  const content = html`<h1>Sent mails</h1>
<p class="faint">The mails since <code>portico dev</code> was started, newest first. ${delivery}</p>
${mails.length === 0 ? html`<p>None yet. Sign up at <a href="/account/sign-up">/account/sign-up</a>, or ask for a <a href="/account/reset">new password</a>.</p>` : table}`
  return page('Sent mails', mailPath, content)
}

const urlPattern = /https?:\/\/[^\s<>"']+[^\s<>"'.,:;!?)]/g

/** Text with clickable links. */
function linked(text: string): readonly Part[] {
  const parts: Part[] = []
  let end = 0
  for (const { 0: link, index } of text.matchAll(urlPattern)) {
    parts.push(text.slice(end, index), html`<a href="${link}" target="_blank" rel="noreferrer">${link}</a>`)
    end = index + link.length
  }
  return [...parts, text.slice(end)]
}

/** One mail, or one template with sample values. */
export interface MailPage {
  readonly subject: string
  readonly text: string
  /** The path of the HTML part; undefined if there is none. */
  readonly htmlPath: string | undefined
  readonly facts: readonly (readonly [name: string, value: Part])[]
  /** The menu entry that is current. */
  readonly currentPath: string
  readonly links: readonly (readonly [path: string, label: string])[]
}

export function mailPage({ subject, text, htmlPath, facts, currentPath, links }: MailPage): Page {
  const preview = html`<h2>HTML part</h2>
<p class="faint"><a href="${htmlPath ?? ''}">Open it alone</a>, as wide as the window. Drag the corner of the frame to resize it.</p>
<div class="preview"><iframe title="The HTML part" src="${htmlPath ?? ''}" sandbox="allow-popups allow-popups-to-escape-sandbox"></iframe></div>`
  const content = html`<nav class="local" aria-label="Other mails">${links.map(([path, label]) => html`<a href="${path}">${label}</a>`)}</nav>
<h1>${safeText(subject)}</h1>
<dl>${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
${htmlPath !== undefined && preview}
<h2>Plain part</h2>
<pre class="plain">${linked(text)}</pre>`
  return page(subject, currentPath, content)
}

export function sentPage(
  mail: StoredMail,
  adjacent: { readonly newer?: number; readonly older?: number },
): Page {
  const { id, to, subject, text, language, template, at, isSent } = mail
  const adjacentLinks = [
    [adjacent.newer, 'Newer'],
    [adjacent.older, 'Older'],
  ] as const
  return mailPage({
    subject,
    text,
    htmlPath: mail.html === undefined ? undefined : `${mailPath}/${id}/html`,
    currentPath: mailPath,
    links: [
      [mailPath, 'All mails'],
      ...adjacentLinks.flatMap(([adjacentId, label]) =>
        adjacentId === undefined ? [] : [[`${mailPath}/${adjacentId}`, label] as const],
      ),
    ],
    facts: [
      ['To', safeText(to)],
      ['Time', time(at)],
      ['Sent', isSent ? 'by the mail server' : 'no: no mail server is configured'],
      ...(language === undefined ? [] : [['Language', languageName(language)] as const]),
      [
        'Template',
        template === undefined
          ? 'none: the model’s code sent it'
          : html`<a href="${templatesPath}/${template}/${language ?? 'en'}">${template}</a>`,
      ],
    ],
  })
}

export interface TemplateRow {
  readonly name: string
  readonly subjects: readonly (readonly [language: string, subject: string])[]
}

export function templatesPage(rows: readonly TemplateRow[], languages: readonly string[]): Page {
  const cells = ({ name, subjects }: TemplateRow) =>
    subjects.map(
      ([language, subject]) =>
        html`<td${attributes({ lang: language })}><a href="${templatesPath}/${name}/${language}">${subject}</a></td>`,
    )
  const content = html`<h1>Templates</h1>
<p class="faint">Every mail that Portico sends, with sample values. The file in <code>mail.templates</code> can replace texts and add languages.</p>
<div class="scrolled"><table>
<thead><tr><th scope="col">Mail</th>${languages.map(language => html`<th scope="col">${languageName(language)}</th>`)}</tr></thead>
<tbody>${rows.map(row => html`<tr><th scope="row">${row.name}</th>${cells(row)}</tr>`)}</tbody></table></div>`
  return page('Templates', templatesPath, content)
}

export function problemPage(title: string, message: string): Page {
  return page(title, undefined, html`<h1>${title}</h1><p>${message}</p>`)
}
