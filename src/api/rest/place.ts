/** Errors of one part of a request: an item of a bulk create, or an operation of a batch. */
import { ApiError, type FieldFault } from '../../base/errors.ts'

/**
 * The error of a part, with the status and code that the part would get as a separate request, and `details` that locate it.
 * `place`: the part, e.g. `[3]`; `body`: the part's body, e.g. `operations[3].body`.
 */
export function faultAt(error: unknown, place: string, body: string): unknown {
  // A failure of the service is not a fault of the part.
  if (!(error instanceof ApiError) || error.status >= 500) return error
  const { code, message, headers, scope, refused, cause } = error
  const concernsBody = code === 'VALIDATION_FAILED' || code === 'CONFLICT'
  const details = detailsAt(error, place, concernsBody ? body : place)
  return new ApiError(code, `${place}: ${message}`, {
    details,
    refused,
    ...(headers && { headers }),
    ...(scope !== undefined && { scope }),
    cause,
  })
}

function detailsAt({ code, message, details }: ApiError, place: string, inside: string): FieldFault[] {
  if (details === undefined || details.length === 0) {
    return [{ field: place, code: code.toLowerCase(), message }]
  }
  // A fault without a field concerns the whole item.
  return details.map(fault => ({ ...fault, field: fault.field === '' ? inside : `${inside}.${fault.field}` }))
}
