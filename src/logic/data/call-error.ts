/** Faults of what logic asks of `data`, with their place. */
import { ApiError } from '../../errors.ts'
import type { NameFault, Refuse } from '../../plan/names.ts'

/** A call of `data` that cannot be answered. `of`: `code` where only the code can have caused it, e.g. an unknown name. */
export class CallError extends ApiError {
  readonly of: 'code' | 'value'

  constructor(of: 'code' | 'value', message: string) {
    super('BAD_REQUEST', message)
    this.of = of
  }
}

/** `place`: in the call, e.g. `tasks.list: where.status`. */
export function badCall(place: string, message: string): ApiError {
  return new CallError('code', `${place} ${message}`)
}

/** Of a value that may have come from a caller. */
export function badValue(place: string, message: string): ApiError {
  return new CallError('value', `${place} ${message}`)
}

/** As the caller of an action is answered: a mistake of the code is the operator's, and neither tells what it asked for. */
export function asAnswered(error: unknown): unknown {
  if (!(error instanceof CallError)) return error
  if (error.of === 'code') return new Error(error.message, { cause: error })
  return new ApiError('BAD_REQUEST', 'A value is not of the kind that is looked for.', { cause: error })
}

export function refuseAt(place: string): Refuse {
  return ({ message }: NameFault) => badCall(place, message)
}
