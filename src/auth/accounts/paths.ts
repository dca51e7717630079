/** The paths of the account pages. A separate file, so that requests for other paths do not load the pages. */
import type { Call } from '../../call.ts'

export const interactionPrefix = '/oauth/interaction/'

/** Whether the account pages answer a path. */
export function isAccountPath(path: string): boolean {
  return path === '/account' || path.startsWith('/account/') || path.startsWith(interactionPrefix)
}

/** Whether a call to an account path sends or accepts JSON instead of forms and pages. */
export function isJsonCall({ method, headers }: Pick<Call, 'method' | 'headers'>): boolean {
  if (method === 'POST') return /^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '')
  const { accept = '' } = headers
  return accept.includes('application/json') && !accept.includes('text/html')
}

/** The paths of the authorization server that browsers open. All other requests to it come from programs. */
const browserPaths = ['/oauth/authorize', '/oauth/device/verify', '/oauth/logout']

/** Whether a path of the authorization server answers with pages, even to errors. */
export function isBrowserPath(path: string): boolean {
  return browserPaths.some(prefix => path === prefix || path.startsWith(`${prefix}/`))
}
