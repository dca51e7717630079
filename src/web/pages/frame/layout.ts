/** The frame of every page: of accounts, of the portal, of errors and of `portico dev`. */

import {
  attributes,
  type Html,
  html,
  type Message,
  type Part,
  render,
  type Text,
} from '../../../base/html.ts'
import type { Theme } from '../../../base/theme.ts'
import { type PageLanguage, t } from '../../../identity/mail/page-texts.ts'
import { button, form } from '../components/form.ts'
import { type Icon, icon } from '../components/icons.ts'
import { brand, initialOf } from '../components/tile.ts'
import { type Destination, type DestinationName, destinations, type LinkOptions } from './destinations.ts'

/** What the frame shows of the service. */
export interface FrameOptions extends LinkOptions {
  readonly theme: Theme
}

/** Whether the browser is signed in, and whether as an administrator. */
export type Visitor = 'anyone' | 'user' | 'admin'

export interface Page {
  readonly title: Text
  readonly content: Part
  /** Whether the form has faults: then the title begins with `Error` (WCAG 2.2, 3.3.1). */
  readonly faulty?: boolean
  /** The menu of the account pages. */
  readonly menu?: Menu
  /** For pages without a menu: by default a card in the middle, for a single step. `tool`: another library draws the content. */
  readonly layout?: 'centred' | 'centred broad' | 'reading' | 'tool'
  /** Whether it needs the script of the account pages. */
  readonly script?: boolean
  /** The current place in the navigation. */
  readonly place?: DestinationName
  /** For pages without a menu. Their content is the same for all visitors, so a script adds the name. */
  readonly visitor?: Visitor
  /** Paths of style sheets and scripts besides the frame's own. */
  readonly styles?: readonly string[]
  readonly scripts?: readonly string[]
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

/** Where the portal serves the assets of all pages. */
export const assetsPath = '/docs/assets/'
export const scriptPath = '/account/assets/passkeys.js'

type MenuEntry = readonly [path: string, name: Message, icon: Icon]

/** The menu of the account pages: groups of entries, in order. */
const groups: readonly { readonly name: Message; readonly entries: readonly MenuEntry[] }[] = [
  {
    name: t('Account'),
    entries: [
      ['/account', t('Overview'), 'home'],
      ['/account/profile', t('Profile'), 'person'],
      ['/account/security', t('Security'), 'shield'],
      ['/account/sessions', t('Sessions'), 'screen'],
      ['/account/apps', t('Connected apps'), 'apps'],
    ],
  },
  {
    name: t('For developers'),
    entries: [
      ['/account/keys', t('API keys'), 'key'],
      ['/account/developer', t('OAuth apps'), 'code'],
      ['/account/webhooks', t('Webhooks'), 'webhook'],
    ],
  },
]

/** The value of `aria-current`: pages below the path of an entry belong to the entry. */
function ariaCurrent(path: string, here: string): 'page' | 'true' | false {
  if (path === here) return 'page'
  return path !== '/account' && here.startsWith(`${path}/`) && 'true'
}

function menuLink([path, name, iconName]: MenuEntry, here: string): Html {
  const linkAttributes = attributes({ href: path, 'aria-current': ariaCurrent(path, here) })
  return html`<li><a${linkAttributes}>${icon(iconName)}${name}</a></li>`
}

/** Next to the content, or a popover in narrow windows, which needs no script. */
function accountMenu({ here }: Menu): Html {
  const lists = groups.map(
    ({ name, entries }, index) => html`<h2 id="menu-${index}">${name}</h2>
<ul aria-labelledby="menu-${index}">${entries.map(entry => menuLink(entry, here))}</ul>`,
  )
  return html`<nav class="menu" id="menu" aria-label="${t('Account')}" popover>
${lists}
</nav>`
}

/** On every page of the account. */
function confirmBanner({ csrf, email, here, unconfirmed }: Menu): Html | undefined {
  if (!unconfirmed || unconfirmed.link === 'none') return undefined
  const { link: state, endsOthers } = unconfirmed
  const sent = state === 'sent'
  const address = html`<strong>${email}</strong>`
  const what = sent
    ? t(
        'We have sent a link to {email}. Open it, here or on another device. Not your address? [Correct it](/account/profile).',
        { email: address },
      )
    : t('Open the link that we send to {email}.', { email: address })
  return html`<div class="banner">${icon(sent ? 'mail' : 'attention')}<div>
<h2 id="unconfirmed">${sent ? t('Check your mail') : t('Confirm your e-mail address')}</h2>
<p${attributes({ role: sent && 'status' })}>${what} ${t('Until then apps see the address as unconfirmed, and you cannot use what others have shared with this address.')}${endsOthers && html` ${t('Confirming ends other sessions and older API keys.')}`}</p>
${form({ action: '/account/verify', csrf, hidden: { send: 'yes', back: here } }, button(sent ? t('Send it again') : t('Send the link'), 'plain'))}</div></div>`
}

/** The script of the search shows the button: without scripts there is no search. */
const searchButton = html`<button type="button" class="search" data-search hidden>${icon('search')}<span>${t('Search')}</span><kbd>${t('Ctrl K')}</kbd></button>`

const searchDialog = html`<dialog id="search" aria-label="${t('Search the documentation')}">
<form method="dialog"><input type="search" name="q" aria-label="${t('Search')}" placeholder="${t('Search the reference and the guides')}" autocomplete="off" spellcheck="false" role="combobox" aria-expanded="true" aria-controls="found" aria-autocomplete="list"><button class="plain">${t('Close')}</button></form>
<p class="faint" role="status" data-hint="${t('Operations, guides and errors.')}" data-none="${t('Nothing found.')}" data-some="${t('{count} found.', { count: '{count}' })}" data-fault="${t('The search could not be loaded. Try again.')}"></p>
<ul id="found" role="listbox" aria-label="${t('Results')}"></ul>
</dialog>`

/** Who is signed in. Without the menu's name, the script inserts it: the page itself may be cached. */
function session({ menu, visitor = 'anyone' }: Page): Html {
  if (!menu && visitor === 'anyone') return html`<a class="enter" href="/account">${t('Sign in')}</a>`
  const name = menu
    ? html`<bdi>${menu.name}</bdi> <span class="hidden">${t('Signed in as {email}', { email: menu.email })}</span>`
    : html`<bdi>${t('Account')}</bdi>`
  return html`<div${attributes({ class: 'session', 'data-session': menu === undefined })}>
<a${attributes({ href: '/account', title: menu?.email })}><span class="tile small round" aria-hidden="true">${menu && initialOf(menu.name)}</span><span>${name}</span></a>
<form${attributes({ method: 'post', action: '/account/sign-out', hidden: menu === undefined })}>${menu && html`<input type="hidden" name="csrf" value="${menu.csrf}">`}<button>${icon('leave')}<span>${t('Sign out')}</span></button></form></div>`
}

function headerLink(place: DestinationName, name: Message, { href }: Destination, page: Page): Html {
  return html`<li><a${attributes({ href, 'aria-current': place === page.place && 'page' })}>${name}</a></li>`
}

function header({ theme, ...options }: FrameOptions, page: Page): Html {
  const all = destinations(options)
  const links = (['docs', 'rest', 'graphql', 'guides'] as const).flatMap(place => {
    const destination = all.get(place)
    return destination
      ? [headerLink(place, place === 'docs' ? t('Docs') : destination.title, destination, page)]
      : []
  })
  return html`<nav class="bar" aria-label="${t('Main')}">${brand(theme)}
<div class="places">${page.menu && html`<button type="button" class="open" popovertarget="menu">${icon('lines')}${t('Menu')}</button>`}<ul>${links}</ul></div>
${searchButton}
${session(page)}</nav>`
}

function framed(options: FrameOptions, page: Page): Html {
  const { menu, content } = page
  const account =
    menu &&
    html`<div class="account">
${accountMenu(menu)}
<main id="content">
${confirmBanner(menu)}
${content}
</main>
</div>`
  return html`${header(options, page)}
${account ?? content}`
}

function card({ theme }: FrameOptions, content: Part): Html {
  return html`<header>${brand(theme)}</header>
<main id="content">
${content}
</main>`
}

/** A whole document, with its doctype. */
export function renderPage(options: FrameOptions, page: Page, language: PageLanguage): string {
  const { faulty, title, menu, content, styles = [], scripts = [] } = page
  const layout = page.layout ?? (menu ? undefined : 'centred')
  const isCard = layout?.startsWith('centred')
  const allScripts = [!isCard && `${assetsPath}frame.js`, page.script && scriptPath, ...scripts]
  const document = html`<!doctype html>
<html lang="${language.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${
  (isCard || menu) &&
  html`<meta name="robots" content="noindex">
`
}<title>${faulty ? t('Error: {title}', { title }) : title} – ${options.theme.name}</title>
<link rel="icon" href="data:,">
${[`${assetsPath}${layout === 'tool' ? 'tool' : 'style'}.css`, ...styles].map(
  href => html`<link rel="stylesheet" href="${href}">
`,
)}${allScripts.map(
  src =>
    src &&
    html`<script src="${src}" defer><\/script>
`,
)}</head>
<body${attributes({ class: layout })}>
<a class="skip" href="#content">${t('Skip to the content')}</a>
${
  isCard
    ? card(options, content)
    : html`${framed(options, page)}
${searchDialog}`
}
</body>
</html>
`
  return render(document, language)
}
