/** Logs failed requests and overload. */
import { ApiError } from '../../errors.ts'
import type { HttpParts } from '../../http.ts'
import type { Log, Logger } from '../../observability/log.ts'

/** Logs errors whose details clients do not see, and overload. */
export function faultLog({ logger }: Log): Pick<HttpParts, 'onOverload' | 'onFault'> {
  return {
    onOverload(isOverloaded, refused) {
      if (isOverloaded) logger.warn('overloaded: requests that cannot be answered in time are refused')
      else logger.warn({ refused }, 'no longer overloaded')
    },
    onFault: (error, { requestId, method }) =>
      logFault(logger, error, 'request failed', { request_id: requestId, method }),
  }
}

/** A refusal in normal operation is a warning without a stack: while a service starts, each health check causes one. */
export function logFault(logger: Logger, error: unknown, message: string, fields: object = {}): void {
  if (error instanceof ApiError && error.isExpected) {
    logger.warn({ reason: error.message, ...fields }, message)
  } else logger.error({ err: error, ...fields }, message)
}
