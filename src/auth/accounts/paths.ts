/** Which paths are pages of accounts: in a file of its own, so that a request for others loads none of them. */
import type { Call } from '../../call.ts'

export const interactionPrefix = '/oauth/interaction/'

export function isAccountPath(path: string): boolean {
  return path === '/account' || path.startsWith('/account/') || path.startsWith(interactionPrefix)
}

/** Whether a call to such a path speaks JSON, in place of forms and pages. */
export function isJsonCall({ method, headers }: Pick<Call, 'method' | 'headers'>): boolean {
  if (method === 'POST') return /^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '')
  const { accept = '' } = headers
  return accept.includes('application/json') && !accept.includes('text/html')
}

/** Where apps send browsers, and the authorization server's own pages. What else asks it is a program. */
const forPeople = ['/oauth/authorize', '/oauth/device/verify', '/oauth/logout']

export function isForPeople(path: string): boolean {
  return forPeople.some(start => path === start || path.startsWith(`${start}/`))
}
