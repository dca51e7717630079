/** Request errors: what a client hears when nothing was executed (GraphQL 7.1.2). */
import type { GraphQLFormattedError } from 'graphql'
import { ApiError } from '../errors.ts'
import type { Refused } from './engine.ts'

export interface Refusal {
  readonly errors: readonly GraphQLFormattedError[]
  /** The reply: `{"errors":[…]}`. */
  readonly text: string
  readonly status: number
  /**
   * Whether the request itself was well-formed. With `application/json` the answer is then a 200, as older
   * clients expect (GraphQL over HTTP, 6.4.1).
   */
  readonly wellFormed: boolean
  readonly headers: Readonly<Record<string, string>> | undefined
}

/** As an exception, for the stages that come before the engine. */
export class RequestRefused extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.errors[0]?.message)
    this.name = 'RequestRefused'
    this.refusal = refusal
  }
}

export function refusedByEngine({ errors, text }: Refused): Refusal {
  return { errors, text, status: 400, wellFormed: true, headers: undefined }
}

/** `code`: of the error catalogue, or one of a protocol's own. */
export function refusal(message: string, code: string, status: number, wellFormed: boolean): Refusal {
  const errors = [{ message, extensions: { code } }]
  return { errors, text: JSON.stringify({ errors }), status, wellFormed, headers: undefined }
}

/** Whatever was thrown. Faults of ours show nothing of themselves. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof RequestRefused) return error.refusal
  const shown =
    error instanceof ApiError ? error : new ApiError('INTERNAL_ERROR', undefined, { cause: error })
  const { code, message, details, status, headers } = shown
  const extensions = details ? { code, details } : { code }
  const errors = [{ message, extensions }]
  return { errors, text: JSON.stringify({ errors }), status, wellFormed: false, headers }
}
