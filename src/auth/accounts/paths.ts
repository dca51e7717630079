/** Which paths are pages of accounts: in a file of its own, so that a request for others loads none of them. */

export const interactionPrefix = '/oauth/interaction/'

export function isAccountPath(path: string): boolean {
  return path === '/account' || path.startsWith('/account/') || path.startsWith(interactionPrefix)
}
