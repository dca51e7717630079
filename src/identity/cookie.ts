/** Cookies of the account pages. */
import type { ServerResponse } from 'node:http'
import { basePathOf } from '../base/base-path.ts'
import type { Call } from '../base/call.ts'

/** The value of a cookie that the browser has sent. Undefined if there is no cookie with the name, or more than one. */
export function cookieOf({ headers }: Pick<Call, 'headers'>, name: string): string | undefined {
  const values = (headers.cookie ?? '')
    .split(';')
    .map(pair => pair.trim())
    .filter(pair => pair.startsWith(`${name}=`))
    .map(pair => pair.slice(name.length + 1))
  return values.length === 1 ? values[0] : undefined
}

/**
 * With https, a prefix: no other host of the domain can set such a cookie (RFC 6265bis, 4.1.3.2). It needs the path `/`: below a
 * base path, where other services share the host, the cookie is sent to this one only.
 */
export function hostCookieName(issuer: string, name: string): string {
  if (!issuer.startsWith('https:')) return name
  return basePathOf(issuer) === '' ? `__Host-${name}` : `__Secure-${name}`
}

interface HostCookie {
  /** Without the prefix. */
  readonly name: string
  readonly value: string
  /** Omitted: until the browser closes. 0 deletes the cookie. */
  readonly maxAgeSeconds?: number
}

/**
 * Adds a cookie to the response. Not to the headers of the reply, which would replace the cookies of the session. Lax, because
 * providers send the browser back from another site.
 */
export function setHostCookie(
  res: ServerResponse,
  issuer: string,
  { name, value, maxAgeSeconds }: HostCookie,
): void {
  const maxAge = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`
  const secure = issuer.startsWith('https:') ? '; Secure' : ''
  const attributes = `; Path=${basePathOf(issuer) || '/'}; HttpOnly; SameSite=Lax${maxAge}${secure}`
  res.appendHeader('Set-Cookie', `${hostCookieName(issuer, name)}=${value}${attributes}`)
}
