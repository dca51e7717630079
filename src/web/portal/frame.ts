/** The frame of every page of the portal, with one header for reference, guides, GraphQL and account. */
import { attributes, type Html, html, type Part } from '../../base/html.ts'
import type { Theme } from '../../base/theme.ts'
import { brand } from '../pages/components/tile.ts'
import { type Destination, type DestinationName, destinations, type LinkOptions } from './links.ts'

/** Whether the browser is signed in, and whether as an administrator. */
export type Visitor = 'anyone' | 'user' | 'admin'

export interface FrameOptions extends LinkOptions {
  readonly theme: Theme
}

export interface FramedPage {
  readonly title: string
  /** The current place in the navigation. */
  readonly place: DestinationName
  /** Everything below the header, with `<main>`. */
  readonly content: Part
  /** Paths of style sheets and scripts besides the frame's own. */
  readonly styles?: readonly string[]
  readonly scripts?: readonly string[]
  /** The class of `<body>`. */
  readonly layout?: 'reading' | 'tool'
  readonly visitor?: Visitor
}

export const assetsPath = '/docs/assets/'

const magnifier = html`<svg aria-hidden="true" viewBox="0 0 20 20" width="16" height="16" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"><circle cx="9" cy="9" r="6"></circle><path d="M14 14l4 4"></path></svg>`

/** The script of the search shows the button: without scripts there is no search. */
const searchButton = html`<button type="button" class="search" data-search hidden>${magnifier}<span>Search</span><kbd>Ctrl K</kbd></button>`

const searchDialog = html`<dialog id="search" aria-label="Search the documentation">
<form method="dialog"><input type="search" name="q" aria-label="Search" placeholder="Search the reference and the guides" autocomplete="off" spellcheck="false" role="combobox" aria-expanded="true" aria-controls="found" aria-autocomplete="list"><button class="plain">Close</button></form>
<p class="faint" role="status"></p>
<ul id="found" role="listbox" aria-label="Results"></ul>
</dialog>`

function navigation(current: DestinationName, all: ReadonlyMap<DestinationName, Destination>): Html {
  const links = (['rest', 'graphql', 'guides'] as const).flatMap(place => {
    const destination = all.get(place)
    return destination ? [{ place, ...destination }] : []
  })
  const items = links.map(
    ({ place, href, title }) =>
      html`<li><a${attributes({ href, 'aria-current': place === current && 'page' })}>${title}</a></li>`,
  )
  return html`<ul>${items}</ul>`
}

function header({ theme, ...options }: FrameOptions, { place, visitor = 'anyone' }: FramedPage): Html {
  const label = visitor === 'anyone' ? 'Sign in' : 'Account'
  return html`<nav class="frame" aria-label="Main">
${brand(theme)}
<a${attributes({ class: 'docs', href: '/docs', 'aria-current': place === 'docs' && 'page' })}>Docs</a>
${navigation(place, destinations(options))}
${searchButton}
<a class="account" href="/account">${label}</a>
</nav>`
}

/** A whole document, with its doctype. */
export function renderFrame(options: FrameOptions, page: FramedPage): string {
  const { title, content, layout = 'reading', styles = [], scripts = [] } = page
  const styleLinks = [`${assetsPath}frame.css`, ...styles].map(
    href => html`<link rel="stylesheet" href="${href}">
`,
  )
  const scriptTags = [`${assetsPath}search.js`, ...scripts].map(
    src => html`<script src="${src}" defer><\/script>
`,
  )
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – ${options.theme.name}</title>
<link rel="icon" href="data:,">
${styleLinks}${scriptTags}</head>
<body class="${layout}">
<a class="skip" href="#content">Skip to the content</a>
${header(options, page)}
${content}
${searchDialog}
</body>
</html>
`.text
}
