/** What every page has around its content. */
import { attributes, type Html, html, type Part } from './html.ts'
import type { Theme } from './theme.ts'

export interface Page {
  readonly title: string
  readonly content: Part
  /** Where faults are to be mended, the title says so first (WCAG 2.2, 3.3.1). */
  readonly faulty?: boolean
  /** The pages of an account have its menu; `here` is the one that is shown. */
  readonly menu?: Menu
  readonly script?: boolean
}

export interface Menu {
  readonly here: string
  readonly csrf: string
  readonly email: string
}

export const stylesheetPath = '/account/assets/style.css'
export const scriptPath = '/account/assets/passkeys.js'

const entries = [
  ['/account', 'Account'],
  ['/account/profile', 'Profile'],
  ['/account/security', 'Security'],
  ['/account/apps', 'Connected apps'],
  ['/account/sessions', 'Sessions'],
  ['/account/keys', 'API keys'],
  ['/account/developer', 'Developer'],
  ['/account/webhooks', 'Webhooks'],
] as const

/** Pages below an entry's belong to it. */
function currency(path: string, here: string): 'page' | 'true' | false {
  if (path === here) return 'page'
  return path !== '/account' && here.startsWith(`${path}/`) && 'true'
}

function menu({ here, csrf, email }: Menu): Html {
  const links = entries.map(
    ([path, name]) =>
      html`<li><a${attributes({ href: path, 'aria-current': currency(path, here) })}>${name}</a></li>`,
  )
  return html`<nav aria-label="Account"><ul>${links}</ul></nav>
<form class="who" method="post" action="/account/sign-out"><input type="hidden" name="csrf" value="${csrf}">
<p class="faint">Signed in as ${email}</p><button class="plain">Sign out</button></form>`
}

/** A whole document, with its doctype. */
export function layout(theme: Theme, page: Page): string {
  const title = `${page.faulty ? 'Error: ' : ''}${page.title} – ${theme.name}`
  const logo = theme.logo !== undefined && html`<img src="${theme.logo}" alt="">`
  const made = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylesheetPath}">
${page.script && html`<script src="${scriptPath}" defer></script>`}
</head>
<body${attributes({ class: page.menu && 'wide' })}>
<a class="skip" href="#content">Skip to the content</a>
<header>${logo}<span>${theme.name}</span></header>
<main id="content">
${page.menu && menu(page.menu)}
${page.content}
</main>
</body>
</html>
`
  return made.text
}
