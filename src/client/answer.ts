/** Responses → bodies and errors. */
import { ApiError, type FieldFault } from './api-error.ts'

export interface Answer {
  /** The parsed JSON; undefined: none came. */
  readonly body: unknown
  readonly etag: string | undefined
}

/** Throws an `ApiError` for an error status, and for a body that is not JSON. */
export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text().catch(error => {
    throw unreachable('The service', error)
  })
  const body = parsed(text)
  if (!response.ok) throw errorOf(response, body)
  if (text !== '' && body === undefined)
    throw errorOf(
      response,
      body,
      'UNEXPECTED_ANSWER',
      'The response is not JSON: is `baseUrl` the address of the service?',
    )
  return { body, etag: response.headers.get('etag') ?? undefined }
}

/** `what` gave no answer, or broke off. */
export function unreachable(what: string, cause: unknown): ApiError {
  const message = `${what} gave no answer: ${cause instanceof Error ? cause.message : String(cause)}`
  return new ApiError({ status: 0, code: 'NETWORK_ERROR', message, cause })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface ErrorBody {
  readonly code: string
  readonly message: string
  readonly details?: readonly FieldFault[]
  readonly explain?: string
}

/** A body that does not have the form of the service's errors comes from a proxy. */
export function errorOf(
  { status: received, headers }: Response,
  body: unknown,
  code = `HTTP_${received}`,
  message = `HTTP ${received}, in an answer that is not the service’s: look at the proxies in between.`,
  /** In place of 0, where browsers do not tell. */
  hidden = 0,
): ApiError {
  const error = (body as { readonly error?: ErrorBody } | null | undefined)?.error
  return new ApiError({
    status: received || hidden,
    code: error?.code ?? code,
    message: error?.message ?? message,
    details: error?.details,
    explain: error?.explain,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfter: secondsOf(headers.get('retry-after')),
  })
}

/** `Retry-After`: seconds, or a time (RFC 9110, 10.2.3). */
function secondsOf(header: string | null): number | undefined {
  if (header === null) return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}
