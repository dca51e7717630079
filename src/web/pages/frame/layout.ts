/** The frame of every page. */

import { attributes, type Html, html, type Part } from '../../../base/html.ts'
import type { Theme } from '../../../base/theme.ts'
import { button, form } from '../components/form.ts'
import { type Icon, icon } from '../components/icons.ts'
import { brand, personTile } from '../components/tile.ts'

export interface Page {
  readonly title: string
  readonly content: Part
  /** Whether the form has faults: then the title begins with `Error` (WCAG 2.2, 3.3.1). */
  readonly faulty?: boolean
  /** The menu of the account pages. Pages without a menu are a centred card. */
  readonly menu?: Menu
  /** For pages without a menu: a wider card. */
  readonly broad?: boolean
  readonly script?: boolean
}

export interface Menu {
  /** The path of the current page. */
  readonly here: string
  readonly csrf: string
  readonly name: string
  readonly email: string
  /** Set if the address is not confirmed. */
  readonly unconfirmed?: Unconfirmed | undefined
}

export interface Unconfirmed {
  /** `none`: the service cannot send one. */
  readonly link: 'offered' | 'sent' | 'none'
  /** Whether confirming the address revokes what was created in the account before. */
  readonly endsOthers: boolean
}

export const stylesheetPath = '/account/assets/style.css'
export const scriptPath = '/account/assets/passkeys.js'

type MenuEntry = readonly [path: string, name: string, icon: Icon]

/** The navigation: groups of entries, in order. */
const groups: readonly { readonly name: string; readonly entries: readonly MenuEntry[] }[] = [
  {
    name: 'Account',
    entries: [
      ['/account', 'Overview', 'home'],
      ['/account/profile', 'Profile', 'person'],
      ['/account/security', 'Security', 'shield'],
      ['/account/sessions', 'Sessions', 'screen'],
      ['/account/apps', 'Connected apps', 'apps'],
    ],
  },
  {
    name: 'For developers',
    entries: [
      ['/account/keys', 'API keys', 'key'],
      ['/account/developer', 'OAuth apps', 'code'],
      ['/account/webhooks', 'Webhooks', 'webhook'],
      ['/docs', 'Documentation', 'book'],
    ],
  },
]

/** The value of `aria-current`: pages below the path of an entry belong to the entry. */
function ariaCurrent(path: string, here: string): 'page' | 'true' | false {
  if (path === here) return 'page'
  return path !== '/account' && here.startsWith(`${path}/`) && 'true'
}

function link([path, name, iconName]: MenuEntry, here: string): Html {
  const linkAttributes = attributes({ href: path, 'aria-current': ariaCurrent(path, here) })
  return html`<li><a${linkAttributes}>${icon(iconName)}${name}</a></li>`
}

function chip({ name, email }: Menu): Html {
  return html`<p class="chip">${personTile(name, email)}<span><strong><bdi>${name}</bdi></strong><span class="faint"><span class="hidden">Signed in as </span>${email}</span></span></p>`
}

/** Next to the content, or a popover in narrow windows, which needs no script. */
function navigation(menu: Menu): Html {
  const lists = groups.map(
    ({ name, entries }, index) => html`<h2 id="menu-${index}">${name}</h2>
<ul aria-labelledby="menu-${index}">${entries.map(entry => link(entry, menu.here))}</ul>`,
  )
  return html`<nav class="menu" id="menu" aria-label="Account" popover>
${chip(menu)}
${lists}
<form method="post" action="/account/sign-out"><input type="hidden" name="csrf" value="${menu.csrf}"><button class="quiet">${icon('leave')}Sign out</button></form>
</nav>`
}

/** On every page of the account. */
function confirmBanner({ csrf, email, here, unconfirmed }: Menu): Html | undefined {
  if (!unconfirmed || unconfirmed.link === 'none') return undefined
  const { link: state, endsOthers } = unconfirmed
  const sent = state === 'sent'
  return html`<div class="banner">${icon(sent ? 'mail' : 'attention')}<div>
<h2 id="unconfirmed">${sent ? 'Check your mail' : 'Confirm your e-mail address'}</h2>
<p${attributes({ role: sent && 'status' })}>${sent ? html`We have sent a link to <strong>${email}</strong>. Open it, here or on another device. Not your address? <a href="/account/profile">Correct it</a>.` : html`Open the link that we send to <strong>${email}</strong>.`} Until then apps see the address as unconfirmed, and you cannot use what others have shared with this address.${endsOthers && ' Confirming ends other sessions and older API keys.'}</p>
${form({ action: '/account/verify', csrf, hidden: { send: 'yes', back: here } }, button(sent ? 'Send it again' : 'Send the link', 'plain'))}</div></div>`
}

function accountFrame(theme: Theme, menu: Menu, content: Part): Html {
  return html`<header class="bar">${brand(theme)}
<a class="quiet" href="/docs">Docs</a>
<button type="button" class="plain open" popovertarget="menu">${icon('lines')}Menu</button></header>
<div class="account">
${navigation(menu)}
<main id="content">
${confirmBanner(menu)}
${content}
</main>
</div>`
}

function centredFrame(theme: Theme, content: Part): Html {
  return html`<header>${brand(theme)}</header>
<main id="content">
${content}
</main>`
}

/** A whole document, with its doctype. */
export function layout(theme: Theme, page: Page): string {
  const { menu, content } = page
  const title = `${page.faulty ? 'Error: ' : ''}${page.title} – ${theme.name}`
  const cardClasses = page.broad ? 'centred broad' : 'centred'
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylesheetPath}">
${page.script && html`<script src="${scriptPath}" defer><\/script>`}
</head>
<body${attributes({ class: menu ? undefined : cardClasses })}>
<a class="skip" href="#content">Skip to the content</a>
${menu ? accountFrame(theme, menu, content) : centredFrame(theme, content)}
</body>
</html>
`
  return document.text
}
