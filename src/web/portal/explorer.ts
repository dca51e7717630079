/** The page of the GraphQL explorer. `query`: what its editor shows at the first visit. */
import { html } from '../../base/html.ts'
import type { Page, Visitor } from '../pages/frame/layout.ts'

export function explorerPage(parts: Pick<Page, 'styles' | 'scripts'>, query: string, visitor: Visitor): Page {
  const content = html`<main id="content" class="explorer"><h1 class="hidden">GraphQL explorer</h1><div id="graphiql" data-query="${query}"></div><noscript><p>The explorer needs JavaScript. <a href="/docs">The documentation</a> needs none, and <code>POST /graphql</code> answers every client.</p></noscript></main>`
  return { title: 'GraphQL', place: 'graphql', layout: 'tool', content, visitor, ...parts }
}
