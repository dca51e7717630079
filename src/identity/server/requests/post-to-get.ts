/**
 * Requests for pages that apps may send by POST: sign-out (OpenID Connect RP-Initiated Logout 1.0, 2) and authorization
 * (OpenID Connect Core 1.0, 3.1.2.1).
 */
import type { Call, Reply } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import { formText, formType, parseForm, type RequestBody } from './form.ts'

/** Proxies and servers between accept URLs of about this length. */
const maxLocationCharacters = 8000

/**
 * Redirects the browser to the same request by GET. A form posted from another site carries no cookies
 * (RFC 6265bis, 5.5.7.1), so answering it directly would start a new session instead of using the existing one.
 * Throws PAYLOAD_TOO_LARGE if the URL would be too long; `hint` says how to shorten the request.
 */
export function redirectPostToGet(
  { path, query }: Pick<Call, 'path' | 'query'>,
  { bytes, form }: RequestBody,
  hint: string,
): Reply {
  if (bytes.length > 0 && !form) {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', `Send the form as ${formType}.`)
  }
  const parameters = formText([...parseForm(query), ...(form ?? [])])
  const location = parameters === '' ? path : `${path}?${parameters}`
  if (location.length > maxLocationCharacters) {
    const message = `Such a request may have ${maxLocationCharacters} characters: ${hint}.`
    throw new ApiError('PAYLOAD_TOO_LARGE', message)
  }
  return {
    status: 303,
    headers: ['Location', location, 'Cache-Control', 'no-store', 'Referrer-Policy', 'no-referrer'],
    body: null,
  }
}
