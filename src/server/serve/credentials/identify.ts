/** Identifies the principal of a request. */

import { type Awaitable, then } from '../../../base/awaitable.ts'
import { anonymous, type Principal } from '../../../base/principal.ts'
import { budgetAddress, type RateLimits } from '../../../engine/cluster/rate-limits.ts'
import type { Authenticate } from '../../../identity/authenticate.ts'
import type { Exchange } from '../../http/http.ts'

/** Returns a function that finds the principal. A refused credential draws from the budget of the client's address. */
export function createIdentify(authenticate: Authenticate, limits: RateLimits) {
  const refuse = (error: unknown, exchange: Exchange): Awaitable<never> =>
    then(limits.draw(anonymous(budgetAddress(exchange.address)), exchange), () => {
      throw error
    })
  return (exchange: Exchange): Awaitable<Principal> => {
    try {
      const principal = authenticate(exchange, budgetAddress(exchange.address))
      if (!(principal instanceof Promise)) return principal
      return principal.catch(error => refuse(error, exchange))
    } catch (error) {
      return refuse(error, exchange)
    }
  }
}
