/** The page of the GraphQL explorer. `query`: what its editor shows at the first visit. */

import { html } from '../../base/html.ts'
import { t } from '../../identity/mail/page-texts.ts'
import type { Page, Visitor } from '../pages/frame/layout.ts'

export function explorerPage(parts: Pick<Page, 'styles' | 'scripts'>, query: string, visitor: Visitor): Page {
  const content = html`<main id="content" class="explorer"><h1 class="unseen">${t('GraphQL explorer')}</h1><div id="graphiql" data-query="${query}"></div><noscript><p>${t('The explorer needs JavaScript. [The documentation](/docs) needs none, and `POST /graphql` answers every client.')}</p></noscript></main>`
  return { title: t('GraphQL'), place: 'graphql', layout: 'tool', content, visitor, ...parts }
}
