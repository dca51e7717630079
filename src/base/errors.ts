/**
 * Every error that a client can see, in one table: code, status, default message.
 * `docs/errors.md` is generated from it.
 */

interface CatalogueRow {
  readonly status: number
  /** The message of errors that have no more precise one. */
  readonly message: string
  /** For the page of errors: when the error occurs, and what to do. */
  readonly hint: string
}

export const catalogue = {
  BAD_REQUEST: {
    status: 400,
    message: 'The request cannot be understood.',
    hint: 'The body is not JSON, or a parameter is unknown, given twice or of the wrong type. The message names it.',
  },
  VALIDATION_FAILED: {
    status: 400,
    message: 'The body does not fit the collection.',
    hint: '`details` lists every fault with its field. Correct them all and send the request again.',
  },
  INVALID_CURSOR: {
    status: 400,
    message: 'The cursor does not come from this list.',
    hint: 'Use `next_cursor` unchanged, with the same sort. An empty `cursor` starts from the first page.',
  },
  SCAN_TOO_LARGE: {
    status: 400,
    message: 'The list would read too many rows.',
    hint: 'The operator limits how many rows of the database a list may read (`PORTICO_MAX_SCAN`). Sort by `id` or by what the API’s own pages sort by, filter by a relation or a unique field, or follow `cursor` in place of a deep `page`.',
  },
  ANSWER_TOO_LARGE: {
    status: 400,
    message: 'The answer would be too large.',
    hint: 'The operator limits the bytes of an answer (`PORTICO_MAX_ANSWER`); the answers to a write, an action or a batch may have an eighth of it. Request fewer items, fewer fields or fewer relations. A write that is refused so has changed nothing.',
  },
  UNAUTHORIZED: {
    status: 401,
    message: 'This needs a valid credential.',
    hint: 'Send `Authorization: Bearer …` or `X-API-Key: …`. A wrong, expired or revoked credential is refused everywhere.',
  },
  FORBIDDEN: {
    status: 403,
    message: 'You may not do this.',
    hint: 'The access rules of the model do not allow it for this user.',
  },
  INSUFFICIENT_SCOPE: {
    status: 403,
    message: 'The credential lacks a scope.',
    hint: 'The message and `WWW-Authenticate` name the scope that is needed.',
  },
  NOT_FOUND: {
    status: 404,
    message: 'There is nothing here.',
    hint: 'The path is wrong, the item does not exist, or you may not see it.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: 'This path does not accept the method.',
    hint: 'The `Allow` header lists the methods that it accepts.',
  },
  NOT_ACCEPTABLE: {
    status: 406,
    message: 'None of the accepted media types is available.',
    hint: 'Accept `application/json`.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    message: 'The request took too long to arrive.',
    hint: 'Send the whole request without a pause.',
  },
  CONFLICT: {
    status: 409,
    message: 'The change conflicts with what is stored.',
    hint: 'A unique value is taken, other items still refer to this one, or a request with the same `Idempotency-Key` is still running. The message says which.',
  },
  RESYNC_REQUIRED: {
    status: 410,
    message: 'The events that follow are no longer kept.',
    hint: 'The event id is older than what the log keeps, or newer than any event. Read the items again, then listen without `after`.',
  },
  PRECONDITION_FAILED: {
    status: 412,
    message: 'The item has changed since you read it.',
    hint: 'Read the item again and send the change with its new `ETag` in `If-Match`.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    message: 'The body is too large.',
    hint: 'The message states the bound.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    message: 'The media type of the body is not supported.',
    hint: 'Send `Content-Type: application/json`, in UTF-8.',
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    message: 'The Idempotency-Key was used for another request.',
    hint: 'The request that first came with this `Idempotency-Key` had another method, path, body or precondition. Use a new key for each write, and send a retry exactly as it was.',
  },
  RATE_LIMITED: {
    status: 429,
    message: 'Too many requests.',
    hint: 'Wait for the seconds in `Retry-After`.',
  },
  INTERNAL_ERROR: {
    status: 500,
    message: 'Something went wrong on our side.',
    hint: 'Report the `X-Request-Id`: the log entry with the same id says more.',
  },
  UNAVAILABLE: {
    status: 503,
    message: 'The service cannot answer now.',
    hint: 'Try again after the seconds in `Retry-After`. If the message says that the change may have been stored, the header is missing: read the current state before you repeat the request.',
  },
} as const satisfies Record<string, CatalogueRow>

export type ErrorCode = keyof typeof catalogue

/** A fault of one field of a body, or of one parameter. */
export interface FieldFault {
  readonly field: string
  /** Stable and machine-readable, e.g. `required`, `unknown_field`, `too_long`, `read_only`. */
  readonly code: string
  readonly message: string
}

/** Which rule refused the request, for the log at `debug` and for explanations. Clients never see it. */
export interface Refused {
  readonly collection: string
  /** `read`, `create`, `update`, `delete`, or the name of an action or query. */
  readonly operation: string
  /** The fields whose rules refused. */
  readonly fields?: readonly string[]
}

interface ApiErrorOptions {
  readonly refused?: Refused | undefined
  readonly details?: readonly FieldFault[]
  /** The scope that was missing, for `INSUFFICIENT_SCOPE`. */
  readonly scope?: string
  /** Reply headers that belong to this error, e.g. `Allow`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the change may have been stored: the client must read before it repeats the request. */
  readonly isUnconfirmed?: boolean
  /** See `temporaryRefusal`. */
  readonly isExpected?: boolean
  /** See `databaseFault`. */
  readonly isDatabaseFault?: boolean
  readonly cause?: unknown
}

/** An error that a client may see. Anything else that is thrown becomes INTERNAL_ERROR. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly details: readonly FieldFault[] | undefined
  readonly scope: string | undefined
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly isUnconfirmed: boolean
  readonly isExpected: boolean
  readonly isDatabaseFault: boolean
  readonly refused: Refused | undefined
  /** The reason in words: set only during development, and then shown to the client. */
  explain: string | undefined

  constructor(code: ErrorCode, message?: string, options: ApiErrorOptions = {}) {
    super(
      message ?? catalogue[code].message,
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.name = 'ApiError'
    this.code = code
    this.status = catalogue[code].status
    this.details = options.details
    this.scope = options.scope
    this.headers = options.headers
    this.isUnconfirmed = options.isUnconfirmed === true
    this.isExpected = options.isExpected === true
    this.isDatabaseFault = options.isDatabaseFault === true
    this.refused = options.refused
  }
}

/** The error that clients get for a thrown value: of a fault of our own, they see no details. */
export function toApiError(thrown: unknown): ApiError {
  return thrown instanceof ApiError ? thrown : new ApiError('INTERNAL_ERROR', undefined, { cause: thrown })
}

/**
 * UNAVAILABLE in normal operation: the service is starting, stopping or overloaded. Unlike a failure, it is logged without a
 * stack.
 */
export function temporaryRefusal(message: string, headers?: Readonly<Record<string, string>>): ApiError {
  return new ApiError('UNAVAILABLE', message, { isExpected: true, ...(headers && { headers }) })
}

/** UNAVAILABLE because the database has failed, which other requests will meet, too. Clients see the message, operators the cause. */
export function databaseFault(cause: unknown, message?: string): ApiError {
  return new ApiError('UNAVAILABLE', message, { isDatabaseFault: true, cause })
}

/** How far causes are followed: they may form a circle. */
const maxCauses = 8

/** Whether it failed because the process, or the whole system, cannot open more files and sockets. */
export function isOutOfDescriptors(error: unknown): boolean {
  let cause = error
  for (let depth = 0; cause instanceof Error && depth < maxCauses; depth++) {
    const { code, message }: NodeJS.ErrnoException = cause
    if (code === 'EMFILE' || code === 'ENFILE') return true
    // Node's loader of modules tells it by the text alone. Texts of other errors may quote strangers, e.g. a certificate.
    if (code === 'ERR_INVALID_PACKAGE_CONFIG' && String(message).endsWith(': too many open files.'))
      return true
    cause = cause.cause
  }
  return false
}

export function stoppingRefusal(): ApiError {
  return temporaryRefusal('The service is stopping.')
}
