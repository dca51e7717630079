/** The error with which every call rejects. */

/** A fault of one field of a body, or of one parameter. */
export interface FieldFault {
  readonly field: string
  /** A stable code, e.g. `required` or `too_long`. */
  readonly code: string
  readonly message: string
}

export interface ApiErrorFacts {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly details?: readonly FieldFault[] | undefined
  readonly explain?: string | undefined
  readonly requestId?: string | undefined
  readonly retryAfter?: number | undefined
  readonly cause?: unknown
}

/** An error response, or a missing response: `NETWORK_ERROR`, `TIMEOUT`. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** The HTTP status; 0 if there was no response. */
  readonly status: number
  /** E.g. `NOT_FOUND`; `HTTP_502` if a proxy answered instead of the service; `NETWORK_ERROR`, `TIMEOUT`. */
  readonly code: string
  /** All faults of the body or of the parameters. */
  readonly details: readonly FieldFault[] | undefined
  /** Which rule, scope or field refused the request, in words. Only from `portico dev` and in `portico/test`. */
  readonly explain: string | undefined
  /** The id of the request in the service's log. */
  readonly requestId: string | undefined
  /** The seconds to wait before another attempt. */
  readonly retryAfter: number | undefined

  constructor({ status, code, message, details, explain, requestId, retryAfter, cause }: ApiErrorFacts) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.code = code
    this.details = details
    this.explain = explain
    this.requestId = requestId
    this.retryAfter = retryAfter
  }
}
