/** Rate limits: the budget from which a request draws, and the headers that state what remains. */
import { isIPv6 } from 'node:net'
import { type Awaitable, then } from '../../base/awaitable.ts'
import { ApiError } from '../../base/errors.ts'
import { mebibytesOf } from '../../base/mebibytes.ts'
import type { Principal } from '../../base/principal.ts'
import { type Budget, defaultWindowSeconds, type RateCounters } from './cluster.ts'

/** Requests per window; `off` counts nothing. */
export interface RateLimitSettings {
  readonly user: number | 'off'
  /** Of an app for all of its users together, unless the app has a limit of its own; omitted: none. */
  readonly app?: number | 'off'
  readonly address: number | 'off'
}

/** The budget of a route of the model. */
export interface RouteBudget {
  readonly name: string
  readonly rateLimit: { readonly requests: number; readonly seconds: number }
}

export interface DrawnLimit {
  readonly name: string
  readonly requests: number
  readonly seconds: number
}

/** Carries the headers to the reply, also to that of an error. */
export interface RateLimited {
  /** Header lines, each with its end (RFC 9112, 5). */
  headerLines: string
  /** The budget after the last draw: of two, the one with fewer requests left. */
  budget?: { readonly limit: number; readonly remaining: number; readonly resetAt: number } | undefined
}

export interface RateLimits {
  /** Draws `cost` requests, one by default, for an app also from its budget for all users. Throws RATE_LIMITED if fewer remain. */
  draw(principal: Principal, answer: RateLimited, cost?: number): undefined | Promise<undefined>
  /** Draws one request for each whole mebibyte of a reply. Never throws: if fewer remain, it draws those, and the reply is sent. */
  drawForReply(principal: Principal, answer: RateLimited, reply: string): undefined | Promise<undefined>
  /** Draws a page from its own budget, of as many pages as an address may send requests. Throws RATE_LIMITED if none is left. */
  drawPage(principal: Principal, answer: RateLimited): undefined | Promise<undefined>
  /**
   * Draws one request from the budget of a route, which all its callers share: no header tells a caller what the others did.
   * Throws RATE_LIMITED.
   */
  drawRoute(route: RouteBudget): Awaitable<void>
  /** Gives back one request to a route that should not count. */
  giveRoute(route: RouteBudget): void
  /** The limits from which a request draws, those of routes from nothing else. `route`: of the model, if it is called. */
  limitsOf(principal: Principal, route?: RouteBudget): readonly DrawnLimit[]
  /** Gives back one request that should not count. */
  give(principal: Principal): void
  /** How many requests were refused. */
  readonly counts: { refused: number }
}

/** The address to which a budget belongs: an IPv4 address, or the /64 network of an IPv6 address, which usually belongs to one customer. */
export function budgetAddress(address: string): string {
  if (!address.includes(':') || !isIPv6(address)) return address
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  const groups = [...before, ...zeros, ...after].slice(0, 4)
  return `${groups.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

/** One kind of budget, and the constant parts of its headers. */
interface Policy {
  readonly name: string
  readonly limit: number
  readonly start: string
  readonly middle: string
  readonly end: string
}

function createPolicy(name: string, limit: number | 'off'): Policy | undefined {
  if (limit === 'off') return undefined
  return {
    name,
    limit,
    start: `X-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: `,
    middle: `\r\nRateLimit: "${name}";r=`,
    end: `\r\nRateLimit-Policy: "${name}";q=${limit};w=${defaultWindowSeconds}\r\n`,
  }
}

/** The policy of an app, by its own limit if it has one. */
function createAppPolicies(standard: number | 'off'): (limit: number | undefined) => Policy | undefined {
  const policy = createPolicy('app', standard)
  return limit => (limit === undefined ? policy : createPolicy('app', limit))
}

const noPolicy = () => undefined

/**
 * The last two headers follow draft-ietf-httpapi-ratelimit-headers-10, sections 3 and 4. `RateLimit` also has the names of its
 * drafts up to 07, as parameters, which the newer draft ignores: the parser that clients use, ratelimit-header-parser 0.1.0,
 * knows only those, and reads no other header where it finds `RateLimit`.
 */
function headerLines(budget: Budget, { limit, start, middle, end }: Policy, now: number): string {
  const { remaining, resetAt } = budget
  const seconds = secondsLeft(budget, now)
  return `${start}${remaining}\r\nX-RateLimit-Reset: ${resetAt}${middle}${remaining};t=${seconds};limit=${limit};remaining=${remaining};reset=${seconds}${end}`
}

function secondsLeft({ resetAt }: Budget, now: number): number {
  return Math.max(1, resetAt - Math.floor(now / 1000))
}

export function createRateLimits(
  settings: RateLimitSettings,
  counters: RateCounters,
  now = Date.now,
): RateLimits {
  const userPolicy = createPolicy('user', settings.user)
  const addressPolicy = createPolicy('address', settings.address)
  const pagePolicy = createPolicy('page', settings.address)
  const counts = { refused: 0 }
  const { user, address, app = 'off' } = settings
  const isOff = [user, address, app].every(limit => limit === 'off')
  const appPolicyOf = isOff ? noPolicy : createAppPolicies(app)
  const show = (budget: Budget, policy: Policy, answer: RateLimited): undefined => {
    answer.headerLines = headerLines(budget, policy, now())
    answer.budget = budget
  }
  const settle = (budget: Budget, policy: Policy, answer: RateLimited): undefined => {
    show(budget, policy, answer)
    if (budget.granted) return
    const owner = policy.name === 'app' ? ' of the app for all of its users' : ''
    throw refusal(budget, `The limit of ${policy.limit} requests per minute${owner} is used up`)
  }
  const refusal = (budget: Budget, reason: string): ApiError => {
    counts.refused++
    const seconds = secondsLeft(budget, now())
    return new ApiError('RATE_LIMITED', `${reason}: try again in ${seconds} s.`, {
      headers: { 'Retry-After': String(seconds) },
    })
  }
  const policyFor = ({ userId, budgetKey }: Principal) =>
    userId === null && !budgetKey.startsWith('app:') ? addressPolicy : userPolicy
  const take = (key: string, policy: Policy, answer: RateLimited, cost: number) => {
    const budget = counters.take(key, policy.limit, cost)
    if (budget instanceof Promise) return budget.then(resolved => settle(resolved, policy, answer))
    return settle(budget, policy, answer)
  }
  /** Of two budgets, whether the answer is about that of the app: it alone refuses, or has fewer requests left. */
  const isOfApp = (own: Budget, ofApp: Budget) =>
    own.granted && (!ofApp.granted || ofApp.remaining < own.remaining)
  return {
    counts,
    give(principal) {
      const { appBudget } = principal
      if (policyFor(principal)) counters.give(principal.budgetKey, 1)
      if (appBudget && appPolicyOf(appBudget.limit)) counters.give(appBudget.key, 1)
    },
    drawForReply(principal, answer, reply) {
      const requests = mebibytesOf(reply)
      if (requests === 0) return undefined
      const policy = policyFor(principal)
      const { appBudget, budgetKey } = principal
      const appPolicy = appBudget && appPolicyOf(appBudget.limit)
      const { remaining = policy?.limit ?? requests } = answer.budget ?? {}
      const cost = Math.min(remaining, requests)
      // Both in one turn: one round trip.
      const own = policy && counters.take(budgetKey, policy.limit, cost)
      const ofApp = appPolicy && counters.take(appBudget.key, appPolicy.limit, cost)
      return then<Budget | undefined, undefined>(own, ownBudget =>
        then<Budget | undefined, undefined>(ofApp, sharedBudget => {
          if (appPolicy && sharedBudget && (!ownBudget || isOfApp(ownBudget, sharedBudget)))
            return show(sharedBudget, appPolicy, answer)
          return policy && ownBudget && show(ownBudget, policy, answer)
        }),
      )
    },
    draw(principal, answer, cost = 1) {
      const policy = policyFor(principal)
      const { appBudget, budgetKey } = principal
      const appPolicy = appBudget && appPolicyOf(appBudget.limit)
      if (!appPolicy) return policy && take(budgetKey, policy, answer, cost)
      if (!policy) return take(appBudget.key, appPolicy, answer, cost)
      // Both in one turn: one round trip.
      const own = counters.take(budgetKey, policy.limit, cost)
      const ofApp = counters.take(appBudget.key, appPolicy.limit, cost)
      return then<Budget, undefined>(own, ownBudget =>
        then<Budget, undefined>(ofApp, sharedBudget => {
          if (!sharedBudget.granted && ownBudget.granted) counters.give(budgetKey, cost)
          if (!ownBudget.granted && sharedBudget.granted) counters.give(appBudget.key, cost)
          return isOfApp(ownBudget, sharedBudget)
            ? settle(sharedBudget, appPolicy, answer)
            : settle(ownBudget, policy, answer)
        }),
      )
    },
    drawRoute({ name, rateLimit: { requests, seconds } }) {
      if (isOff) return undefined
      return then(counters.take(`route:${name}`, requests, 1, seconds), budget => {
        if (!budget.granted) throw refusal(budget, 'The limit of requests to this path is used up')
      })
    },
    limitsOf(principal, route) {
      if (route) return isOff ? [] : [{ name: 'route', ...route.rateLimit }]
      const { appBudget } = principal
      const policies = [policyFor(principal), appBudget && appPolicyOf(appBudget.limit)]
      return policies.flatMap(policy =>
        policy ? [{ name: policy.name, requests: policy.limit, seconds: defaultWindowSeconds }] : [],
      )
    },
    giveRoute({ name, rateLimit: { seconds } }) {
      if (!isOff) counters.give(`route:${name}`, 1, seconds)
    },
    drawPage: ({ budgetKey }, answer) => pagePolicy && take(`page:${budgetKey}`, pagePolicy, answer, 1),
  }
}
