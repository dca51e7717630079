/** Turns errors of the client library into `ProviderFault`s. */

import { printable } from '../../../base/printable.ts'
import { OutgoingError } from '../../../delivery/outgoing/errors.ts'
import { ProviderFault } from './provider.ts'

const maxCharacters = 200

/** A provider's text, shortened and printable, for the log. */
export function shortText(value: unknown): string {
  return printable(String(value).slice(0, maxCharacters).toWellFormed())
}

/** The error and its causes, at most five. */
function causesOf(error: unknown): readonly unknown[] {
  const causes: unknown[] = []
  for (let cause = error; cause instanceof Error && causes.length < 5; cause = cause.cause) causes.push(cause)
  return causes
}

/** RFC 6749, 4.1.2.1, and Apple's own code. */
const denials = ['access_denied', 'user_cancelled_authorize', 'login_required', 'interaction_required']
const outages = ['temporarily_unavailable', 'server_error']

/** Members of an error that the library has thrown for an error response. */
interface ErrorResponse {
  readonly error?: unknown
  readonly status?: unknown
  readonly code?: unknown
}

/** The fault behind any error of the library, of the network, or of the provider’s response. */
export function faultOf(error: unknown): ProviderFault {
  if (error instanceof ProviderFault) return error
  const causes = causesOf(error)
  const outgoing = causes.find(cause => cause instanceof OutgoingError)
  if (outgoing) return new ProviderFault('unavailable', outgoing.message, { cause: error })
  const { error: errorMember, status, code } = (error ?? {}) as ErrorResponse
  const errorCode = typeof errorMember === 'string' ? errorMember : ''
  if (denials.includes(errorCode)) return new ProviderFault('denied', errorCode)
  const statuses = [status, ...causes.map(cause => (cause as { cause?: { status?: unknown } }).cause?.status)]
  const isOutage =
    outages.includes(errorCode) || statuses.some(value => typeof value === 'number' && value >= 500)
  const message = shortText(
    [code, errorCode, (error as Error | undefined)?.message].filter(Boolean).join(': '),
  )
  return new ProviderFault(isOutage ? 'unavailable' : 'invalid', message, { cause: error })
}
