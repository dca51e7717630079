/** The website of an app, where it has a registered one that browsers open. */
import type { App } from '../../server/server.ts'

export function websiteOf({ homepageUri: uri }: Pick<App, 'homepageUri'>): URL | undefined {
  const url = uri === undefined ? null : URL.parse(uri)
  return url && /^https?:$/.test(url.protocol) ? url : undefined
}
