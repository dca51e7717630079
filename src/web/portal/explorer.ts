/** The page of the GraphQL explorer. `query`: what its editor shows at the first visit. */
import { html } from '../../base/html.ts'
import type { FramedPage } from './frame.ts'

export function explorerPage(parts: Pick<FramedPage, 'styles' | 'scripts'>, query: string): FramedPage {
  const content = html`<main id="content" class="explorer"><h1 class="unseen">GraphQL explorer</h1><div id="graphiql" data-query="${query}"></div><noscript><p>The explorer needs JavaScript. <a href="/docs">The documentation</a> needs none, and <code>POST /graphql</code> answers every client.</p></noscript></main>`
  return { title: 'GraphQL', place: 'graphql', layout: 'tool', content, ...parts }
}
