/** Faults of what logic asks of `data`, with their place. */
import { ApiError } from '../errors.ts'
import type { NameFault, Refuse } from '../plan/names.ts'

/** `place`: in the call, e.g. `tasks.list: where.status`. */
export function badCall(place: string, message: string): ApiError {
  return new ApiError('BAD_REQUEST', `${place} ${message}`)
}

export function refuseAt(place: string): Refuse {
  return ({ message }: NameFault) => badCall(place, message)
}
