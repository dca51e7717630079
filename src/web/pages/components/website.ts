/** The registered website of an app, if browsers can open it. */
import type { App } from '../../../identity/server/server.ts'

export function websiteOf({ homepageUri: uri }: Pick<App, 'homepageUri'>): URL | undefined {
  const url = uri === undefined ? null : URL.parse(uri)
  return url && /^https?:$/.test(url.protocol) ? url : undefined
}
