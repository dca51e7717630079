/**
 * The target of a request, its Host (RFC 9112, 3.2) and its framing. `useOriginForm` is called before anything reads the
 * target, so that paths are compared, counted and logged in one form only; `checkTarget` refuses targets without such a form.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIPv6 } from 'node:net'
import { withoutBasePath } from '../../base/base-path.ts'
import { ApiError } from '../../base/errors.ts'

/** RFC 3986, 3.2.2, without the comma: Node joins a header that came twice with one. */
const namedHost = /^(?:[\w.~!$&'()*+;=-]|%[0-9A-Fa-f]{2})+(?::\d{0,5})?$/
const bracketedHost = /^\[([0-9A-Fa-f:.]+)\](?::\d{0,5})?$/

function isHost(text: string): boolean {
  return namedHost.test(text) || isIPv6(bracketedHost.exec(text)?.[1] ?? '')
}

/** The last valid host: most requests have the same one. */
let lastHost: string | undefined

function hasHost({ headers: { host }, httpVersion }: IncomingMessage): boolean {
  if (host === undefined) return httpVersion === '1.0'
  if (host === lastHost) return true
  if (!isHost(host)) return false
  lastHost = host
  return true
}

/** A URL with a scheme that is served here (RFC 9110, 4.2). User information is an error (4.2.4). */
const absolute = /^https?:\/\/([^/?#@]+)(?=[/?]|$)/i

/**
 * Replaces the absolute form of the target by the origin form, and Host by the target's authority (RFC 9112, 3.2.2).
 * Does not change targets that `checkTarget` refuses. Removes the base path.
 */
export function useOriginForm(req: IncomingMessage, basePath = ''): void {
  useAuthority(req)
  // Twice for a handshake that opens no WebSocket: the second time there is nothing to remove.
  if (basePath !== '') req.url = withoutBasePath(req.url ?? '', basePath)
}

function useAuthority(req: IncomingMessage): void {
  const { url = '' } = req
  if (url.startsWith('/')) return
  const [start = '', authority = ''] = absolute.exec(url) ?? []
  if (!isHost(authority) || !hasHost(req)) return
  const remainder = url.slice(start.length)
  req.url = remainder.startsWith('/') ? remainder : `/${remainder}`
  req.headers.host = authority
}

/**
 * Throws BAD_REQUEST for versions that only Node's parser accepts, for a transfer coding other than `chunked`, and for any
 * coding with HTTP/1.0. It also ends the connection: a proxy may have found another end of the body (RFC 9112, 6.1).
 */
export function checkFraming({ req, res }: { req: IncomingMessage; res: ServerResponse }): void {
  const { httpVersion, headers } = req
  const coding = headers['transfer-encoding']
  if (httpVersion === '1.1' && (coding === undefined || coding.toLowerCase() === 'chunked')) return
  if (httpVersion === '1.0' && coding === undefined) return
  res.shouldKeepAlive = false
  throw new ApiError(
    'BAD_REQUEST',
    'The request must be HTTP/1.0 or HTTP/1.1, and have no transfer coding other than `chunked`, which needs HTTP/1.1.',
  )
}

/** Throws BAD_REQUEST for a target or a Host that no request may have (RFC 9112, 3.2). */
export function checkTarget(req: IncomingMessage): void {
  if (!hasHost(req)) {
    throw new ApiError('BAD_REQUEST', 'The request needs exactly one `Host` header, with a valid host name.')
  }
  const { url = '', method } = req
  if (!url.startsWith('/') && !(url === '*' && method === 'OPTIONS')) {
    throw new ApiError(
      'BAD_REQUEST',
      'The request target must be a path that begins with a slash, or a whole `http` or `https` URL without user information.',
    )
  }
  if (url.includes('#')) {
    throw new ApiError(
      'BAD_REQUEST',
      'The request target must not have a fragment: omit `#` and everything after it.',
    )
  }
}
