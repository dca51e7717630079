/** Errors of calls of `data`, with their place. */
import { inspect } from 'node:util'
import { ApiError } from '../../../base/errors.ts'
import type { NameFault, Refuse } from '../../plan/names.ts'

/** An invalid call of `data`. `source`: `code` if only the model's code can be at fault, e.g. for an unknown name. */
class CallError extends ApiError {
  readonly source: 'code' | 'value'

  constructor(of: 'code' | 'value', message: string) {
    super('BAD_REQUEST', message)
    this.source = of
  }
}

/** Portico has more than ten frames, Node's default limit, between the call in the model's code and the error. */
const maxFrames = 50

/** `place`: e.g. `data.tasks.list: where.status`. Its stack reaches the line of the model that made the call. */
export function badCall(place: string, message: string): ApiError {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = maxFrames
  try {
    return new CallError('code', `${place} ${message}`)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** The error for a value that may come from the caller of the action. */
export function badValue(place: string, message: string): ApiError {
  return new CallError('value', `${place} ${message}`)
}

/** The error for the caller of an action; an internal error for a mistake in the code. It reveals no names of the call. */
export function errorForCaller(error: unknown): unknown {
  if (!(error instanceof CallError)) return error
  if (error.source === 'code') return new Error(error.message, { cause: error })
  return new ApiError('BAD_REQUEST', 'A value does not fit the field that it is compared with.', {
    cause: error,
  })
}

/** What the model's code threw, as an error. */
export function thrownError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`It threw ${inspect(thrown)}, which is not an error.`)
}

export function refuseAt(place: string): Refuse {
  return ({ message }: NameFault) => badCall(place, message)
}
