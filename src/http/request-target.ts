/**
 * The target of a request, its Host (RFC 9112, 3.2) and its framing. `takeOriginForm` comes before everything that reads either, so
 * that paths are compared, counted and logged in one form only; `checkTarget` refuses what has no such form.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIPv6 } from 'node:net'
import { ApiError } from '../errors.ts'

/** RFC 3986, 3.2.2, without the comma: Node joins a header that came twice with one. */
const named = /^(?:[\w.~!$&'()*+;=-]|%[0-9A-Fa-f]{2})+(?::\d{0,5})?$/
const bracketed = /^\[([0-9A-Fa-f:.]+)\](?::\d{0,5})?$/

function isHost(text: string): boolean {
  return named.test(text) || isIPv6(bracketed.exec(text)?.[1] ?? '')
}

/** Most requests have the same one. */
let lastHost: string | undefined

function hasHost({ headers: { host }, httpVersion }: IncomingMessage): boolean {
  if (host === undefined) return httpVersion === '1.0'
  if (host === lastHost) return true
  if (!isHost(host)) return false
  lastHost = host
  return true
}

/** RFC 9110, 4.2: the schemes that are served here. User information is an error (4.2.4). */
const absolute = /^https?:\/\/([^/?#@]+)(?=[/?]|$)/i

/**
 * Replaces the absolute form of the target by the origin form, and Host by the target's authority (RFC 9112, 3.2.2).
 * Leaves alone what `checkTarget` refuses.
 */
export function takeOriginForm(req: IncomingMessage): void {
  const { url = '' } = req
  if (url.startsWith('/')) return
  const [start = '', authority = ''] = absolute.exec(url) ?? []
  if (!isHost(authority) || !hasHost(req)) return
  const rest = url.slice(start.length)
  req.url = rest.startsWith('/') ? rest : `/${rest}`
  req.headers.host = authority
}

/**
 * Throws BAD_REQUEST for versions that only Node's parser accepts, for a transfer coding other than `chunked`, and for any
 * coding with HTTP/1.0. The connection ends then: a proxy may have found another end of the body (RFC 9112, 6.1).
 */
export function checkFraming({ req, res }: { req: IncomingMessage; res: ServerResponse }): void {
  const { httpVersion, headers } = req
  const coding = headers['transfer-encoding']
  if (httpVersion === '1.1' && (coding === undefined || coding.toLowerCase() === 'chunked')) return
  if (httpVersion === '1.0' && coding === undefined) return
  res.shouldKeepAlive = false
  throw new ApiError(
    'BAD_REQUEST',
    'The request must be HTTP/1.0 or HTTP/1.1, and have no transfer coding but `chunked`, which needs HTTP/1.1.',
  )
}

/** Throws BAD_REQUEST for a target or a Host that no request may have (RFC 9112, 3.2). */
export function checkTarget(req: IncomingMessage): void {
  if (!hasHost(req)) {
    throw new ApiError('BAD_REQUEST', 'The request needs exactly one `Host` header, with the name of a host.')
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
      'The request target must not have a fragment: leave out `#` and the rest.',
    )
  }
}
