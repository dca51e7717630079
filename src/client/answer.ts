/** Turns responses into bodies and errors. */
import { ApiError, type FieldFault } from './api-error.ts'

export interface Answer {
  /** The parsed JSON; undefined if the body was empty. */
  readonly body: unknown
  readonly etag: string | undefined
}

/** Throws an `ApiError` for an error status, and for a body that is not JSON. */
export async function readAnswer(response: Response): Promise<Answer> {
  const { text, body } = await readBody(response)
  if (!response.ok) throw errorOf(response, body)
  if (text !== '' && body === undefined) throw unexpected(response)
  return { body, etag: response.headers.get('etag') ?? undefined }
}

/** The body as text and as JSON; undefined if it is not JSON. Throws an `ApiError` if it does not arrive completely. */
export async function readBody(
  response: Response,
): Promise<{ readonly text: string; readonly body: unknown }> {
  const text = await response.text().catch(error => {
    throw unreachable('The service', error)
  })
  return { text, body: parseJson(text) }
}

/** A successful response that does not come from the service. */
export function unexpected(response: Response): ApiError {
  const message = 'The response is not JSON: is `baseUrl` the address of the service?'
  return errorOf(response, undefined, 'UNEXPECTED_ANSWER', message)
}

/** `source` sent no response, or not all of it. */
export function unreachable(source: string, cause: unknown): ApiError {
  const message = `${source} did not respond: ${cause instanceof Error ? cause.message : String(cause)}`
  return new ApiError({ status: 0, code: 'NETWORK_ERROR', message, cause })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface ApiErrorBody {
  readonly code: string
  readonly message: string
  readonly details?: readonly FieldFault[]
  readonly explain?: string
}

/** A body without the form of the service's errors comes from a proxy. */
export function errorOf(
  { status: receivedStatus, headers }: Response,
  body: unknown,
  code = `HTTP_${receivedStatus}`,
  message = `HTTP ${receivedStatus}, in a response that is not from the service: check the proxies in between.`,
  /** The status to report if a browser hides the received one. */
  hiddenStatus = 0,
): ApiError {
  const error = (body as { readonly error?: ApiErrorBody } | null | undefined)?.error
  return new ApiError({
    status: receivedStatus || hiddenStatus,
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
