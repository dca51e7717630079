/** The one error of every call. */

/** A fault of one field of a body, or of one parameter. */
export interface FieldFault {
  readonly field: string
  /** Stable: `required`, `too_long`. */
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

/** An answer that is an error, or none: `NETWORK_ERROR`, `TIMEOUT`. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** Of the answer; 0: there was none. */
  readonly status: number
  /** `NOT_FOUND`, `VALIDATION_FAILED`; `HTTP_502` where what answered was not the service; `NETWORK_ERROR`, `TIMEOUT`. */
  readonly code: string
  /** Every fault of a body or of parameters. */
  readonly details: readonly FieldFault[] | undefined
  /** Which rule, scope or field refused, in words: from `portico dev` alone. */
  readonly explain: string | undefined
  /** Finds the request in the service's log. */
  readonly requestId: string | undefined
  /** Seconds after which another attempt makes sense. */
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
