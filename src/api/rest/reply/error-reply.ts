/** Errors → responses, as JSON or as problem details. */
import type { Call, Reply } from '../../../base/call.ts'
import { type ApiError, type ErrorCode, toApiError } from '../../../base/errors.ts'
import { readAccept } from '../accept.ts'
import { vary } from './headers.ts'

const realm = 'realm="api"'

const retryAfter: Partial<Record<ErrorCode, string>> = { RATE_LIMITED: '60', UNAVAILABLE: '1' }

function jsonBody(error: ApiError): string {
  const { code, message, details, explain } = error
  const body = details ? { code, message, details } : { code, message }
  return JSON.stringify({ error: explain === undefined ? body : { ...body, explain } })
}

/** RFC 9457, 3.1, with the extension members `code` and `errors`. */
function problemBody(error: ApiError, call: Call): string {
  return JSON.stringify({
    type: `/docs/errors#${error.code}`,
    title: titleOf(error.code),
    status: error.status,
    detail: error.message,
    instance: `urn:portico:request:${call.requestId}`,
    code: error.code,
    ...(error.details && { errors: error.details }),
    ...(error.explain !== undefined && { explain: error.explain }),
  })
}

/** `NOT_FOUND` → `Not found`. */
function titleOf(code: ErrorCode): string {
  const words = code.toLowerCase().replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function sentCredential(call: Call): boolean {
  const { authorization, 'x-api-key': key } = call.headers
  return authorization !== undefined || key !== undefined || call.keyInQuery === true
}

/**
 * The challenge names an error only if the client sent a credential (RFC 6750, 3), and has the scheme of that credential
 * (RFC 9449, 7.1).
 */
function challenge(error: ApiError, call: Call): string | undefined {
  const scheme = /^dpop /i.test(call.headers.authorization ?? '') ? 'DPoP' : 'Bearer'
  if (error.code === 'UNAUTHORIZED') {
    return `${scheme} ${realm}${sentCredential(call) ? ', error="invalid_token"' : ''}`
  }
  if (error.code !== 'INSUFFICIENT_SCOPE') return undefined
  const scope = error.scope === undefined ? '' : `, scope="${error.scope}"`
  return `${scheme} ${realm}, error="insufficient_scope"${scope}`
}

/** The error's own headers take precedence over those of its code. */
function specialHeaders(error: ApiError, call: Call): Record<string, string> {
  const headers: Record<string, string> = {}
  const authenticate = challenge(error, call)
  if (authenticate !== undefined) headers['WWW-Authenticate'] = authenticate
  const wait = retryAfter[error.code]
  if (wait !== undefined && !error.isUnconfirmed) headers['Retry-After'] = wait
  return { ...headers, ...error.headers }
}

/**
 * The response to a failed request: `{"error":{code, message, details?}}`, or problem details (RFC 9457) when the
 * client prefers them. Anything but an `ApiError` becomes INTERNAL_ERROR, which does not reveal its cause.
 */
export function errorReply(thrown: unknown, call: Call): Reply {
  const error = toApiError(thrown)
  const { problem } = readAccept(call.headers.accept)
  const headers = [
    'Content-Type',
    problem ? 'application/problem+json' : 'application/json',
    'Cache-Control',
    'no-store',
    'Vary',
    vary,
  ]
  for (const [name, value] of Object.entries(specialHeaders(error, call))) headers.push(name, value)
  return { status: error.status, headers, body: problem ? problemBody(error, call) : jsonBody(error) }
}
