/**
 * A public address with a path, `BASE_URL=https://example.com/backend`. Within the service, every path begins at the root. Requests
 * come with the base path or without it, since proxies strip it or not; addresses in answers get it.
 */

/** `/backend`; empty if the address has no path. */
export function basePathOf(baseUrl: string | undefined): string {
  return baseUrl === undefined ? '' : new URL(baseUrl).pathname.replace(/\/+$/, '')
}

/** The paths of the service itself, below the root. */
const ownPath =
  /^\/(?:api\/v1|graphql|oauth|account|docs|dev|hooks|\.well-known|healthz|readyz|metrics)(?:[/?#]|$)/

/** Whether a request could not be told from one without the base path. `/api` can: no path of the service is `/api/api/v1`. */
export function isAmbiguous(basePath: string): boolean {
  return ownPath.test(basePath)
}

const metadata =
  /^\/\.well-known\/(?:oauth-authorization-server|openid-configuration|oauth-protected-resource)(?=\/)/

/** The target of a request below the root. RFC 8414, 3.1, and RFC 9728, 3.1, put the base path behind the well-known one. */
export function withoutBasePath(target: string, basePath: string): string {
  const [wellKnown = ''] = metadata.exec(target) ?? []
  const rest = target.slice(wellKnown.length)
  if (wellKnown === '' && ownPath.test(target)) return target
  if (!rest.startsWith(basePath) || !/^(?:[/?]|$)/.test(rest.slice(basePath.length))) return target
  const path = wellKnown + rest.slice(basePath.length)
  return path.startsWith('/') ? path : `/${path}`
}

/** A path that a browser resolves against the public address. Any other reference is returned unchanged. */
export function withBasePath(reference: string, basePath: string): string {
  if (!/^\/(?!\/)/.test(reference)) return reference
  const isPublic = reference.startsWith(`${basePath}/`) && !ownPath.test(reference)
  return isPublic ? reference : basePath + reference
}

/** Attributes that contain addresses. Quotation marks in texts are escaped, so no text looks like one. */
const addresses = /(\s(?:href|src|action|formaction|data-href)=")(\/[^"]*)/g

export function htmlWithBasePath(page: string, basePath: string): string {
  return page.replace(addresses, (_, start: string, path: string) => start + withBasePath(path, basePath))
}
