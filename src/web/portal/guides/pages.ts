/** The pages of the guides: the list, and each guide with its headings and the guides before and after it. */

import { attributes, type Html, html, type Message, type Text } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import type { Page, Visitor } from '../../pages/frame/layout.ts'
import type { Audience, Guide } from './catalogue.ts'
import { errorsPath, guidesPath } from './guides.ts'
import type { Heading, RenderedPage } from './markdown.ts'

const groups: readonly (readonly [Audience, Message])[] = [
  ['callers', t('For your programs')],
  ['operators', t('Building and operating')],
]

const errors = { slug: 'errors', title: 'Errors', description: 'Every error code, and what to do' }

function hrefOf(slug: string): string {
  return slug === errors.slug ? errorsPath : `${guidesPath}/${slug}`
}

interface Group {
  readonly title: Message
  readonly guides: readonly Pick<Guide, 'slug' | 'title' | 'description'>[]
}

function groupByAudience(guides: readonly Guide[]): readonly Group[] {
  return groups
    .map(([audience, title]) => {
      const ofAudience = guides.filter(guide => guide.audience === audience)
      return { title, guides: audience === 'callers' ? [...ofAudience, errors] : ofAudience }
    })
    .filter(group => group.guides.length > 0)
}

/** The cards of all guides. */
export function guideCards(guides: readonly Guide[]): Html {
  const cards = (group: Group) =>
    group.guides.map(
      ({ slug, title, description }) =>
        html`<li><a href="${hrefOf(slug)}"><strong>${title}</strong>${description !== '' && html`<span>${description}</span>`}</a></li>
`,
    )
  return html`${groupByAudience(guides).map(
    group => html`<h2>${group.title}</h2>
<ul class="cards" lang="en">${cards(group)}</ul>
`,
  )}`
}

/** The navigation between guides; narrow windows show only a link to the list. */
export function guideMenu(guides: readonly Guide[], current: string): Html {
  const item = ({ slug, title }: Group['guides'][number]) =>
    html`<li><a${attributes({ href: hrefOf(slug), 'aria-current': slug === current && 'page' })}>${title}</a></li>`
  const lists = groupByAudience(guides).map(
    group => html`<h2>${group.title}</h2><ul lang="en">${group.guides.map(item)}</ul>
`,
  )
  return html`<div class="guides"><nav aria-label="${t('Guides')}"><a class="up" href="${guidesPath}">${t('All guides')}</a>${lists}</nav></div>`
}

function tableOfContents(headings: readonly Heading[]): Html | false {
  const shown = headings.filter(({ depth }) => depth === 2)
  if (shown.length < 2) return false
  return html`<aside class="toc"><nav aria-label="${t('On this page')}"><h2>${t('On this page')}</h2><ul lang="en">${shown.map(
    ({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`,
  )}</ul></nav></aside>`
}

function neighbours(guides: readonly Guide[], slug: string): Html {
  const index = guides.findIndex(guide => guide.slug === slug)
  const link = (guide: Guide | undefined, label: Text, rel: string) =>
    guide !== undefined &&
    html`<a rel="${rel}" href="${hrefOf(guide.slug)}"><span>${label}</span><strong lang="en">${guide.title}</strong></a>`
  return html`<nav class="neighbours" aria-label="${t('Neighbouring guides')}">${link(guides[index - 1], t('Previous'), 'prev')}${link(
    guides[index + 1],
    t('Next'),
    'next',
  )}</nav>`
}

export function guidePage(
  guide: Guide,
  { body, headings }: RenderedPage,
  guides: readonly Guide[],
  visitor: Visitor,
): Page {
  const content = html`<div class="columns">
${guideMenu(guides, guide.slug)}
<main id="content" class="prose">
<div lang="en">${body}</div>
${neighbours(guides, guide.slug)}
</main>
${tableOfContents(headings)}
</div>`
  return { title: guide.title, layout: 'reading', place: 'guides', content, visitor }
}

export function guidesPage(guides: readonly Guide[], visitor: Visitor): Page {
  const content = html`<main id="content" class="wide">
<h1>${t('Guides')}</h1>
${guideCards(guides)}
</main>`
  return { title: t('Guides'), layout: 'reading', place: 'guides', content, visitor }
}
