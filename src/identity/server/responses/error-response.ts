/** Our own errors at the endpoints that apps call, in OAuth's format. */
import type { Reply } from '../../../base/call.ts'
import { toApiError } from '../../../base/errors.ts'

/** OAuth's error codes by status (RFC 6749, 4.1.2.1 and 5.2). Every other refusal is `invalid_request`. */
const names: Readonly<Record<number, string>> = {
  401: 'invalid_client',
  429: 'temporarily_unavailable',
  500: 'server_error',
  503: 'temporarily_unavailable',
}

/** The reply to an error, with a body as in RFC 6749, 5.2, RFC 7009, 2.2.1, and RFC 7591, 3.2.2. */
export function asOauthError(reply: Reply, thrown: unknown): Reply {
  const { message } = toApiError(thrown)
  const headers = [...reply.headers]
  headers[headers.indexOf('Content-Type') + 1] = 'application/json'
  const body = JSON.stringify({
    error: names[reply.status] ?? 'invalid_request',
    error_description: quotableAscii(message),
  })
  return { ...reply, headers, body }
}

/** RFC 6749, 5.2: printable ASCII without quotation marks and backslashes. */
export function quotableAscii(message: string): string {
  return message.replaceAll('"', "'").replace(/[^\x20-\x7e]|\\/g, '?')
}
