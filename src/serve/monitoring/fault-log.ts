/** Logs failed requests and overload. */
import type { HttpParts } from '../../http.ts'
import type { Log } from '../../observability/log.ts'

/** Logs errors whose details clients do not see, and overload. */
export function faultLog({ logger }: Log): Pick<HttpParts, 'onOverload' | 'onFault'> {
  return {
    onOverload(isOver, refused) {
      if (isOver) logger.warn('overloaded: requests that cannot be answered in time are refused')
      else logger.warn({ refused }, 'no longer overloaded')
    },
    onFault: (error, { requestId, method }) =>
      logger.error({ err: error, request_id: requestId, method }, 'request failed'),
  }
}
