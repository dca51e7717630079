/**
 * Requests for pages that apps post: sign-outs (OpenID Connect RP-Initiated Logout 1.0, 2) and authorization requests
 * (OpenID Connect Core 1.0, 3.1.2.1).
 */
import type { Call, Reply } from '../../call.ts'
import { ApiError } from '../../errors.ts'
import { pairsOf, textOf } from './dialect.ts'

const FORM = 'application/x-www-form-urlencoded'
/** In characters: what servers on the way take of an address. */
const LONGEST = 8000

/**
 * Sends the browser on to the same request by GET. With a form from another site it sends no cookies
 * (RFC 6265bis, 5.5.7.1), so to answer that would start a session in place of the one that is to be asked about.
 * `shorter`: what to do where it is too long for an address, which is PAYLOAD_TOO_LARGE.
 */
export function sentOnByGet(
  { path, query, headers, body }: Pick<Call, 'path' | 'query' | 'headers' | 'body'>,
  shorter: string,
): Reply {
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (body.length > 0 && type !== FORM) {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', `Send the form as ${FORM}.`)
  }
  const parameters = textOf([...pairsOf(query), ...pairsOf(body.toString())])
  const location = parameters === '' ? path : `${path}?${parameters}`
  if (location.length > LONGEST) {
    throw new ApiError('PAYLOAD_TOO_LARGE', `Such a request may have ${LONGEST} characters: ${shorter}.`)
  }
  return {
    status: 303,
    headers: ['Location', location, 'Cache-Control', 'no-store', 'Referrer-Policy', 'no-referrer'],
    body: null,
  }
}
