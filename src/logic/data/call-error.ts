/** Errors of calls of `data`, with their place. */
import { ApiError } from '../../errors.ts'
import type { NameFault, Refuse } from '../../plan/names.ts'

/** An invalid call of `data`. `of`: `code` if only the model's code can be at fault, e.g. for an unknown name. */
export class CallError extends ApiError {
  readonly of: 'code' | 'value'

  constructor(of: 'code' | 'value', message: string) {
    super('BAD_REQUEST', message)
    this.of = of
  }
}

/** Frames of Portico between the call of the model's code and the error: more than the ten that Node keeps. */
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
  if (error.of === 'code') return new Error(error.message, { cause: error })
  return new ApiError('BAD_REQUEST', 'A value is not of the kind that is looked for.', { cause: error })
}

export function refuseAt(place: string): Refuse {
  return ({ message }: NameFault) => badCall(place, message)
}
