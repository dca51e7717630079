/** The paths of the account pages. A separate file, so that requests for other paths do not load the pages. */
import type { Call } from '../../base/call.ts'
import { acceptsJson, acceptsPage } from '../../base/media-ranges.ts'

export const interactionPrefix = '/oauth/interaction/'

/** Whether the account pages answer a path. */
export function isAccountPath(path: string): boolean {
  return path === '/account' || path.startsWith('/account/') || path.startsWith(interactionPrefix)
}

/** The paths whose GET has a JSON form: it is the default, which a program gets that accepts anything. */
const jsonPaths: ReadonlySet<string> = new Set(['/account'])

const jsonType = /^application\/json\s*(?:;|$)/i
const formType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

/** Whether the response to a call to an account path is JSON instead of a page: also that to a body of a wrong type. */
export function isJsonCall({ method, path, headers }: Pick<Call, 'method' | 'path' | 'headers'>): boolean {
  const { accept, 'content-type': contentType = '' } = headers
  if (method === 'POST' && jsonType.test(contentType)) return true
  if (acceptsPage(accept)) return false
  if (acceptsJson(accept)) return true
  return method === 'POST' ? !formType.test(contentType) : jsonPaths.has(path)
}

/** The paths of the authorization server that browsers open. All other requests to it come from programs. */
const browserPaths = ['/oauth/authorize', '/oauth/device/verify', '/oauth/logout']

/** Whether a path of the authorization server answers with pages, even to errors. */
export function isBrowserPath(path: string): boolean {
  return browserPaths.some(prefix => path === prefix || path.startsWith(`${prefix}/`))
}
