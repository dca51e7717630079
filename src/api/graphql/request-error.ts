/** Request errors, after which nothing of an operation was executed (GraphQL 7.1.2). */
import type { GraphQLFormattedError } from 'graphql'
import { toApiError } from '../../base/errors.ts'
import type { RequestErrorResult } from './engine.ts'

export interface RequestError {
  readonly errors: readonly GraphQLFormattedError[]
  /** The reply: `{"errors":[…]}`. */
  readonly text: string
  readonly status: number
  /** For a well-formed request, the status with `application/json` is 200, as older clients expect (GraphQL over HTTP, 6.4.1). */
  readonly isWellFormed: boolean
  readonly headers: Readonly<Record<string, string>> | undefined
}

/** A request error as an exception. */
export class RequestFailed extends Error {
  readonly requestError: RequestError

  constructor(requestError: RequestError) {
    super(requestError.errors[0]?.message)
    this.name = 'RequestFailed'
    this.requestError = requestError
  }
}

export function engineFailure({ errors, text }: RequestErrorResult): RequestFailed {
  return new RequestFailed({ errors, text, status: 400, isWellFormed: true, headers: undefined })
}

/** A well-formed request fails. `code`: from the error catalogue, or from a protocol of GraphQL clients. */
export function requestFailure(message: string, code: string, status: number): RequestFailed {
  const errors = [{ message, extensions: { code } }]
  const text = JSON.stringify({ errors })
  return new RequestFailed({ errors, text, status, isWellFormed: true, headers: undefined })
}

/** Turns anything thrown into a request error, without details of internal faults. */
export function toRequestError(error: unknown): RequestError {
  if (error instanceof RequestFailed) return error.requestError
  const { code, message, details, status, headers } = toApiError(error)
  const extensions = details ? { code, details } : { code }
  const errors = [{ message, extensions }]
  return { errors, text: JSON.stringify({ errors }), status, isWellFormed: false, headers }
}
