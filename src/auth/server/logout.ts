/** Sign-outs that apps post (OpenID Connect RP-Initiated Logout 1.0, 2). */
import type { Call, Reply } from '../../call.ts'
import { ApiError } from '../../errors.ts'
import { pairsOf, textOf } from './dialect.ts'

const FORM = 'application/x-www-form-urlencoded'
/** In characters: what servers on the way take of an address. */
const LONGEST = 8000

/**
 * Sends the browser on to the same request by GET. With a form from another site it sends no cookies
 * (RFC 6265bis, 5.5.7.1), so to answer that would start a session in place of the one that is to be asked about.
 */
export function postedLogout({ path, headers, body }: Pick<Call, 'path' | 'headers' | 'body'>): Reply {
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (body.length > 0 && type !== FORM) {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', `Send the form as ${FORM}.`)
  }
  const query = textOf(pairsOf(body.toString()))
  const location = query === '' ? path : `${path}?${query}`
  if (location.length > LONGEST) {
    throw new ApiError(
      'PAYLOAD_TOO_LARGE',
      `A sign-out may have ${LONGEST} characters: leave out \`id_token_hint\`, and send \`client_id\`.`,
    )
  }
  return {
    status: 303,
    headers: ['Location', location, 'Cache-Control', 'no-store', 'Referrer-Policy', 'no-referrer'],
    body: null,
  }
}
