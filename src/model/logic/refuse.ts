/** Refusals by the model's own actions and queries. */
import { ApiError, type FieldFault } from '../../base/errors.ts'
import { validationError } from '../validate.ts'
import type { WriteFault } from './logic.ts'

const refusalCodes = ['CONFLICT', 'FORBIDDEN', 'NOT_FOUND', 'VALIDATION_FAILED'] as const

/** What a refusal means to clients: statuses 409, 403, 404 and 400. */
export type RefusalCode = (typeof refusalCodes)[number]

/** Options of `refuse`. */
export interface RefusalOptions {
  /** Default: `CONFLICT`. */
  readonly code?: RefusalCode
}

/**
 * Ends an action or a query, whose changes are undone. The caller gets the message, so it must tell no more than the caller
 * may know. With a list of faults, as `check` returns them, the answer is VALIDATION_FAILED with all of them in `details`.
 *
 * Throws an `ApiError` always, and a `TypeError`, which callers see as a 500, if the arguments do not fit.
 */
export function refuse(message: string, options?: RefusalOptions): never
export function refuse(faults: readonly WriteFault[]): never
export function refuse(reason: string | readonly WriteFault[], options: RefusalOptions = {}): never {
  if (Array.isArray(reason)) throw validationError(faultsIn(reason))
  const { code = 'CONFLICT' } = options
  if (!refusalCodes.includes(code)) {
    throw new TypeError(`refuse: the code must be one of ${refusalCodes.join(', ')}.`)
  }
  throw new ApiError(code, textIn(reason))
}

function faultsIn(faults: readonly WriteFault[]): FieldFault[] {
  if (faults.length === 0) throw new TypeError('refuse: a list of faults needs at least one.')
  return faults.map(({ field = '', message, code = 'invalid' }) => {
    return { field: String(field), code: String(code), message: textIn(message) }
  })
}

function textIn(message: unknown): string {
  if (typeof message === 'string' && message !== '') return message
  throw new TypeError('refuse: give the reason, as a text that the caller can read.')
}
