/**
 * Rate limits of the endpoints that apps call. A refused request may guess a secret, so it draws from the tight budget of
 * its address; other requests draw from the ordinary budget. A request draws from both before it is handled, and gives one
 * back afterwards, so that concurrent guesses cannot exceed the tight budget.
 */

import type { Reply, Takeover } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import { anonymous, app, type Principal } from '../../../base/principal.ts'
import type { RateCounters } from '../../../engine/cluster/cluster.ts'
import { budgetAddress, createRateLimits, type RateLimits } from '../../../engine/cluster/rate-limits.ts'
import { basicClientId, firstValue, type Parameters } from '../../../identity/server/requests/form.ts'
import type { Settings } from '../../config/config.ts'
import type { Exchange } from '../../http/http.ts'
import { KeyedSemaphore } from './keyed-semaphore.ts'

interface TokenAttemptParts {
  readonly limits: RateLimits
  /** The tight budget. */
  readonly tokenLimits: RateLimits
  /** The size of the tight budget. */
  readonly tokenLimit: number | 'off'
}

type FastPath = () => Promise<Reply | undefined>

export interface Attempts {
  /**
   * `handle` answers the request and resolves to whether it was refused; `fastPath` is tried first. `form`: the parsed
   * body.
   */
  answer(
    exchange: Exchange,
    form: Parameters | undefined,
    handle: () => Promise<boolean>,
    fastPath?: FastPath,
  ): Promise<Reply | Takeover>
  /** Counts a request that is refused before it is handled. */
  refuse(exchange: Exchange): Promise<void>
}

/** A node handles this many requests per address at once. A request holds a part of the tight budget until it is handled. */
const maxConcurrent = 8
const maxWaiting = 1000

function createAttempts({ limits, tokenLimits, tokenLimit }: TokenAttemptParts): Attempts {
  const share = tokenLimit === 'off' ? maxConcurrent : Math.floor(tokenLimit / 4)
  const semaphore = new KeyedSemaphore(Math.max(1, Math.min(maxConcurrent, share)), maxWaiting)
  const acquire = async ({ budgetKey }: Principal): Promise<() => void> => {
    if (tokenLimit === 'off') return () => {}
    const release = await semaphore.acquire(budgetKey)
    if (release) return release
    const headers = { 'Retry-After': '1' }
    throw new ApiError('RATE_LIMITED', 'Too many requests from this address are waiting.', { headers })
  }
  const draw = async (exchange: Exchange, tight: Principal, ordinary: Principal) => {
    await tokenLimits.draw(tight, exchange)
    try {
      await limits.draw(ordinary, exchange)
    } catch (error) {
      tokenLimits.give(tight)
      throw error
    }
  }
  return {
    async refuse(exchange) {
      await tokenLimits.draw(tightBudgetOf(exchange), exchange)
    },
    async answer(exchange, form, handle, fastPath) {
      const [tight, ordinary] = [tightBudgetOf(exchange), ordinaryBudgetOf(exchange, form)]
      const release = await acquire(tight)
      // This also covers a client that disconnects before the response.
      exchange.res.once('close', release)
      try {
        await draw(exchange, tight, ordinary)
      } catch (error) {
        release()
        throw error
      }
      const settle = (isRefused: boolean) => {
        if (isRefused) limits.give(ordinary)
        else tokenLimits.give(tight)
        release()
      }
      const reply = await fastPath?.().catch(error => {
        settle(false)
        throw error
      })
      if (reply) {
        settle(reply.status >= 400)
        return reply
      }
      return {
        async takeOver() {
          let isRefused = false
          try {
            isRefused = await handle()
          } finally {
            settle(isRefused)
          }
        },
      }
    },
  }
}

function tightBudgetOf({ address }: Exchange): Principal {
  const nobody = anonymous(budgetAddress(address))
  return { ...nobody, budgetKey: `token:${nobody.budgetKey}` }
}

/**
 * An app that sends its secret has its own budget. A request without the secret draws from the address's budget: otherwise
 * anybody could use up the app's.
 */
function ordinaryBudgetOf({ address, headers }: Exchange, form: Parameters | undefined): Principal {
  const clientId = basicClientId(headers) ?? (form && formUser(form))
  if (clientId === undefined || !/^[\w.-]{1,100}$/.test(clientId)) return anonymous(budgetAddress(address))
  return app(clientId, new Set())
}

function formUser(form: Parameters): string | undefined {
  return firstValue(form, 'client_secret') ? firstValue(form, 'client_id') : undefined
}

/** The rate limits of the token endpoint, by the settings. */
export function createTokenLimits(settings: Settings, limits: RateLimits, counters: RateCounters): Attempts {
  const tokenLimit = settings.rateLimit.token
  const tokenLimits = createRateLimits({ user: tokenLimit, address: tokenLimit }, counters)
  return createAttempts({ limits, tokenLimits, tokenLimit })
}
