/** Errors of the library as `ProviderFault`s. */
import { OutgoingError } from '../../../outgoing/errors.ts'
import { printable } from '../../../printable.ts'
import { ProviderFault } from './provider.ts'

const maxCharacters = 200

/** A provider's text, shortened and printable, for the log. */
export function shortText(value: unknown): string {
  return printable(String(value).slice(0, maxCharacters).toWellFormed())
}

function causesOf(error: unknown): readonly unknown[] {
  const found: unknown[] = []
  for (let at = error; at instanceof Error && found.length < 5; at = at.cause) found.push(at)
  return found
}

/** RFC 6749, 4.1.2.1, and Apple's own code. */
const denials = ['access_denied', 'user_cancelled_authorize', 'login_required', 'interaction_required']
const outages = ['temporarily_unavailable', 'server_error']

interface ErrorAnswer {
  readonly error?: unknown
  readonly status?: unknown
  readonly code?: unknown
}

export function faultOf(error: unknown): ProviderFault {
  if (error instanceof ProviderFault) return error
  const causes = causesOf(error)
  const outgoing = causes.find(cause => cause instanceof OutgoingError)
  if (outgoing) return new ProviderFault('unavailable', outgoing.message, { cause: error })
  const { error: said, status, code } = (error ?? {}) as ErrorAnswer
  const told = typeof said === 'string' ? said : ''
  if (denials.includes(told)) return new ProviderFault('denied', told)
  const isOutage = outages.includes(told) || (typeof status === 'number' && status >= 500)
  const statusOf = causes.map(cause => (cause as { cause?: { status?: unknown } }).cause?.status)
  const isDown = isOutage || statusOf.some(one => typeof one === 'number' && one >= 500)
  const message = shortText([code, told, (error as Error | undefined)?.message].filter(Boolean).join(': '))
  return new ProviderFault(isDown ? 'unavailable' : 'invalid', message, { cause: error })
}
