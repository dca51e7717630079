/**
 * The budgets of what programs ask the authorization server. What is refused could be a guess and draws from the
 * tight budget of its address; what is not draws from the ordinary one. Both are drawn before, and the wrong one
 * is given back after: of a thousand guesses at once, no more are looked at than may be.
 */
import type { Reply, TakenOver } from '../call.ts'
import type { RateCounters } from '../cluster/cluster.ts'
import { budgetAddress, createLimits, type Limits } from '../cluster/limits.ts'
import type { Settings } from '../config.ts'
import { ApiError } from '../errors.ts'
import type { Exchange } from '../http.ts'
import { anonymous, app, type Principal } from '../principal.ts'
import { Turns } from './turns.ts'

interface AttemptParts {
  readonly limits: Limits
  /** Of the tight budget. */
  readonly tokenLimits: Limits
  /** How much that is. */
  readonly tokenLimit: number | 'off'
}

type Quickly = () => Promise<Reply | undefined>

export interface Attempts {
  /**
   * `handle` answers a request whose body is read, and tells whether it was refused; `quickly` is asked first, and
   * gives a reply where nothing is to be refused.
   */
  answer(exchange: Exchange, handle: () => Promise<boolean>, quickly?: Quickly): Promise<Reply | TakenOver>
  /** For a request that nobody looks at. */
  refuse(exchange: Exchange): Promise<void>
}

/**
 * So many of one address are looked at together by one node: while it is not known whether they are good, they
 * hold what refused ones may use up.
 */
const AT_ONCE = 8
const MOST_WAITING = 1000

export function createAttempts({ limits, tokenLimits, tokenLimit }: AttemptParts): Attempts {
  const share = tokenLimit === 'off' ? AT_ONCE : Math.floor(tokenLimit / 4)
  const turns = new Turns(Math.max(1, Math.min(AT_ONCE, share)), MOST_WAITING)
  const takeTurn = async ({ budgetKey }: Principal): Promise<() => void> => {
    if (tokenLimit === 'off') return () => {}
    const end = await turns.take(budgetKey)
    if (end) return end
    const headers = { 'Retry-After': '1' }
    throw new ApiError('RATE_LIMITED', 'Too many requests of this address wait already.', { headers })
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
      await tokenLimits.draw(tightOf(exchange), exchange)
    },
    async answer(exchange, handle, quickly) {
      const [tight, ordinary] = [tightOf(exchange), ordinaryOf(exchange)]
      const endTurn = await takeTurn(tight)
      // Whatever becomes of the request.
      exchange.res.once('close', endTurn)
      try {
        await draw(exchange, tight, ordinary)
      } catch (error) {
        endTurn()
        throw error
      }
      const settle = (isRefused: boolean) => {
        if (isRefused) limits.give(ordinary)
        else tokenLimits.give(tight)
        endTurn()
      }
      const reply = await quickly?.().catch(error => {
        settle(false)
        throw error
      })
      if (reply) {
        settle(false)
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

function tightOf({ address }: Exchange): Principal {
  const nobody = anonymous(budgetAddress(address))
  return { ...nobody, budgetKey: `token:${nobody.budgetKey}` }
}

/**
 * An app that shows its secret has a budget of its own. Without one, anybody may call themselves that app and use
 * its budget up: then it is their address's.
 */
function ordinaryOf({ address, headers, body }: Exchange): Principal {
  const clientId = basicUser(headers.authorization) ?? formUser(body)
  if (clientId === undefined || !/^[\w.-]{1,100}$/.test(clientId)) return anonymous(budgetAddress(address))
  return app(clientId, new Set())
}

/** RFC 6749, 2.3.1. */
function basicUser(authorization: string | undefined): string | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization ?? '') ?? []
  if (encoded === undefined) return undefined
  const [user, secret] = Buffer.from(encoded, 'base64').toString().split(/:(.*)/s)
  return secret ? user : undefined
}

function formUser(body: Buffer): string | undefined {
  const form = new URLSearchParams(body.toString())
  return form.get('client_secret') ? (form.get('client_id') ?? undefined) : undefined
}

/** Those of the settings. */
export function attemptsOf(settings: Settings, limits: Limits, counters: RateCounters): Attempts {
  const tokenLimit = settings['oauth.tokenRateLimit'] ?? (settings.rateLimit === 'off' ? 'off' : 60)
  const tokenLimits = createLimits({ user: tokenLimit, address: tokenLimit }, counters)
  return createAttempts({ limits, tokenLimits, tokenLimit })
}
