/** The pages `/` and `/docs`. */

import { type Html, html } from '../../base/html.ts'
import { t } from '../../identity/mail/page-texts.ts'
import type { JsonSchema } from '../../model/fields/type.ts'
import type { Collection, Model } from '../../model/model.ts'
import { type Destination, destinations } from '../pages/frame/destinations.ts'
import type { FrameOptions, Page, Visitor } from '../pages/frame/layout.ts'
import type { Guide } from './guides/catalogue.ts'
import { highlight } from './guides/highlight.ts'
import { guideCards } from './guides/pages.ts'
import { firstPath, firstRequest, type Sample } from './quick-start.ts'
import { exampleResponse, operationsOf, tagHref } from './reference.ts'

function cards(all: Iterable<Destination>): Html {
  return html`<ul class="cards large">${[...all].map(
    ({ href, title, description }) =>
      html`<li><a href="${href}"><strong>${title}</strong><span>${description}</span></a></li>
`,
  )}</ul>`
}

/** Samples as tabs. The tabs are radio buttons, which need no script. */
function tabs(samples: readonly Sample[]): Html {
  const inputs = samples.map(
    ({ label }, index) =>
      html`<label class="l${index}"><input class="t${index}" type="radio" name="language"${index === 0 && html` checked`}> ${label}</label>`,
  )
  const panels = samples.map(
    ({ code, language, label }, index) =>
      html`<pre class="p${index}" tabindex="0" aria-label="${label}"><code>${highlight(code, language)}</code></pre>`,
  )
  return html`<fieldset class="samples"><legend>${t('Language of the sample')}</legend><div class="tabs">${inputs}</div>${panels}</fieldset>`
}

export function homePage(options: FrameOptions, visitor: Visitor): Page {
  const { theme } = options
  const content = html`<main id="content" class="wide">
<div class="hero"><h1>${theme.name}</h1>
<p>${t('An API over REST and GraphQL, with events, webhooks and OAuth 2.0.')}</p></div>
${cards(destinations(options).values())}
</main>`
  return { title: t('Home'), layout: 'reading', place: 'home', content, visitor }
}

function resources(collections: readonly Collection[]): Html {
  const items = collections.map(
    ({ name, description }) =>
      html`<li><a href="${tagHref(name)}"><strong>${name}</strong>${description !== undefined && html`<span>${description}</span>`}</a></li>
`,
  )
  return html`<ul class="cards" lang="en">${items}</ul>`
}

export interface DocsHome {
  readonly frame: FrameOptions
  readonly model: Model
  readonly origin: string
  /** The OpenAPI document. */
  readonly document: JsonSchema
  readonly guides: readonly Guide[]
  readonly visitor: Visitor
}

/** The response to the first request, as the reference shows it. */
function firstResponse({ model, document }: DocsHome): Html | false {
  const example = exampleResponse(document, firstPath(model))
  if (example === undefined) return false
  const code = highlight(JSON.stringify(example, null, 2), 'json')
  return html`<figure class="answer"><figcaption>200 OK</figcaption><pre tabindex="0"><code>${code}</code></pre></figure>`
}

/** The steps to a first response. */
function firstSteps(docs: DocsHome): Html {
  const { model, origin, visitor } = docs
  const key =
    visitor === 'anyone'
      ? t('Sign in or sign up, then [create an API key](/account/keys/new), or let users sign in by OAuth.')
      : t('You are signed in: [create an API key](/account/keys/new), or let users sign in by OAuth.')
  return html`<div class="steps"><ol>
<li><h2>${t('Use the address')}</h2><p><code>${origin}/api/v1</code></p></li>
<li><h2>${t('Get a credential')}</h2><p>${key} ${t('Public data needs no credential.')}</p></li>
<li><h2>${t('Send the first request')}</h2><p>${t('Every answer is JSON. An error says what is wrong, where, and how to correct it.')}</p></li>
</ol>
<div>${tabs(firstRequest(model, origin))}
${firstResponse(docs)}</div></div>`
}

export function docsPage(docs: DocsHome): Page {
  const { frame, model, guides, visitor } = docs
  const all = destinations(frame)
  const tags = new Set(operationsOf(docs.document).map(({ tag }) => tag))
  const content = html`<main id="content" class="wide">
<div class="hero"><h1>${t('{service} documentation', { service: frame.theme.name })}</h1>
<p>${t('From the first request to every operation, event and error.')}</p></div>
${firstSteps(docs)}
<h2>${t('Reference')}</h2>
${cards((['rest', 'graphql', 'account'] as const).flatMap(place => all.get(place) ?? []))}
<h2>${t('Resources')}</h2>
${resources([...model.collections.values()].filter(({ name }) => tags.has(name)))}
${guides.length > 0 && guideCards(guides)}
</main>`
  return { title: t('Documentation'), layout: 'reading', place: 'docs', content, visitor }
}
