/** The destinations of the portal: for the header, for `/` and for its JSON form. */

export interface Destination {
  readonly href: string
  readonly title: string
  readonly description: string
}

export type DestinationName = 'home' | 'docs' | 'rest' | 'graphql' | 'guides' | 'account'

export interface LinkOptions {
  /** Whether `/graphql` shows browsers the explorer. */
  readonly explorer: boolean
  readonly guides: boolean
}

const docs: Destination = {
  href: '/docs',
  title: 'Documentation',
  description: 'Where to begin: the first request, every resource, every guide.',
}
const rest: Destination = {
  href: '/docs/rest',
  title: 'REST API',
  description: 'Every operation, with samples in curl, fetch, Python and the typed client.',
}
const graphql: Destination = {
  href: '/graphql',
  title: 'GraphQL',
  description: 'The explorer: write queries, mutations and subscriptions, with the schema next to them.',
}
const guides: Destination = {
  href: '/docs/guides',
  title: 'Guides',
  description: 'Credentials, OAuth, events, webhooks, errors and limits, explained.',
}
const account: Destination = {
  href: '/account',
  title: 'Account',
  description: 'Your profile, API keys, apps, webhooks and security.',
}

/** The destinations of this service, by place. */
export function destinations(options: LinkOptions): ReadonlyMap<DestinationName, Destination> {
  const all: readonly (readonly [DestinationName, Destination, boolean])[] = [
    ['docs', docs, true],
    ['rest', rest, true],
    ['graphql', graphql, options.explorer],
    ['guides', guides, options.guides],
    ['account', account, true],
  ]
  return new Map(all.filter(([, , exists]) => exists).map(([place, destination]) => [place, destination]))
}

/** The JSON form of `/`, for programs. */
export function linksDocument(name: string, options: LinkOptions): string {
  const links = [...destinations(options)].map(([place, { href }]) => [place, href])
  const programs = [
    ['openapi', '/api/v1/openapi.json'],
    ['graphql', '/graphql'],
    ['oauth', '/.well-known/oauth-authorization-server'],
  ]
  return JSON.stringify({ name, links: Object.fromEntries([...links, ...programs]) })
}
