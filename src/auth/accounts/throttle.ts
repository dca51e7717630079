/** Attempts that may fail: few at a time, by account and by address. */
import { hash } from 'node:crypto'

/** So many attempts in so many milliseconds. */
export interface Allowance {
  readonly attempts: number
  readonly window: number
}

const MINUTE = 60_000

export interface Allowances {
  /** One account from one address. */
  readonly pair: Allowance
  /** One account from everywhere: far more, since anybody could use it up for its owner. */
  readonly account: Allowance
  /** One address, whatever it tries. */
  readonly address: Allowance
}

export const signInAllowances: Allowances = {
  pair: { attempts: 10, window: 15 * MINUTE },
  account: { attempts: 100, window: 60 * MINUTE },
  address: { attempts: 50, window: 15 * MINUTE },
}

/** For what sends mail or makes accounts. */
export const mailAllowances: Allowances = {
  pair: { attempts: 3, window: 15 * MINUTE },
  account: { attempts: 6, window: 60 * MINUTE },
  address: { attempts: 20, window: 60 * MINUTE },
}

interface Counter {
  used: number
  readonly endsAt: number
}

/** The oldest are forgotten beyond this. */
const MAX_COUNTERS = 100_000

export interface Throttle {
  /** Draws one attempt. Seconds to wait when there is none left, else undefined. */
  take(account: string, address: string): number | undefined
  /** The attempt succeeded: it does not count, and neither do those before it from there. */
  succeed(account: string, address: string): void
}

/** In the memory of one process: a restart forgives, and each process counts for itself. */
export function createThrottle(allowances: Allowances, now: () => number = Date.now): Throttle {
  const counters = new Map<string, Counter>()
  const find = (key: string, { window }: Allowance): Counter => {
    const known = counters.get(key)
    if (known && known.endsAt > now()) return known
    if (counters.size >= MAX_COUNTERS) counters.delete(counters.keys().next().value ?? '')
    const made = { used: 0, endsAt: now() + window }
    counters.delete(key)
    counters.set(key, made)
    return made
  }
  const keysOf = (account: string, address: string) => {
    const hashed = hash('sha256', account, 'base64url')
    return [
      [`pair:${hashed}:${address}`, allowances.pair],
      [`account:${hashed}`, allowances.account],
      [`address:${address}`, allowances.address],
    ] as const
  }
  return {
    take(account, address) {
      const drawn = keysOf(account, address).map(([key, allowance]) => ({
        counter: find(key, allowance),
        allowance,
      }))
      const full = drawn.filter(({ counter, allowance }) => counter.used >= allowance.attempts)
      if (full.length === 0) {
        for (const { counter } of drawn) counter.used++
        return undefined
      }
      const end = Math.max(...full.map(({ counter }) => counter.endsAt))
      return Math.max(1, Math.ceil((end - now()) / 1000))
    },
    succeed(account, address) {
      const [[pair], ...others] = keysOf(account, address)
      counters.delete(pair)
      for (const [key] of others) {
        const counter = counters.get(key)
        if (counter && counter.used > 0) counter.used--
      }
    },
  }
}
