/** The destinations of the portal: for the header, for `/` and for its JSON form. */
import type { Message } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'

export interface Destination {
  readonly href: string
  readonly title: Message
  readonly description: Message
}

export type DestinationName = 'home' | 'docs' | 'rest' | 'graphql' | 'guides' | 'account'

export interface LinkOptions {
  /** Whether `/graphql` shows browsers the explorer. */
  readonly explorer: boolean
  readonly guides: boolean
}

const docs: Destination = {
  href: '/docs',
  title: t('Documentation'),
  description: t('Where to begin: the first request, every resource, every guide.'),
}
const rest: Destination = {
  href: '/docs/rest',
  title: t('REST API'),
  description: t('Every operation, with samples in curl, fetch, Python and the typed client.'),
}
const graphql: Destination = {
  href: '/graphql',
  title: t('GraphQL'),
  description: t('The explorer: write queries, mutations and subscriptions, with the schema next to them.'),
}
const guides: Destination = {
  href: '/docs/guides',
  title: t('Guides'),
  description: t('Credentials, OAuth, events, webhooks, errors and limits, explained.'),
}
const account: Destination = {
  href: '/account',
  title: t('Account'),
  description: t('Your profile, API keys, apps, webhooks and security.'),
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
