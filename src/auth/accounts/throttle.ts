/** Attempts that may fail: few at a time, by account and by address. */
import { hash } from 'node:crypto'
import type { Budget, RateCounters } from '../../cluster/cluster.ts'

/** So many attempts in so many seconds. */
export interface Allowance {
  readonly attempts: number
  readonly window: number
}

const MINUTE = 60

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

export interface Throttle {
  /** Draws one attempt. Seconds to wait when there is none left, else undefined. */
  take(account: string, address: string): Promise<number | undefined>
  /** The attempt succeeded: it does not count, and neither do those before it from there. */
  succeed(account: string, address: string): void
}

export interface ThrottleParts {
  /** What is attempted: its counters are its own. */
  readonly name: string
  readonly allowances: Allowances
  /** Those of all nodes. */
  readonly counters: RateCounters
  readonly now?: () => number
}

/**
 * Counted over all nodes, and before the attempt: of many at once, no more come through than may. Windows are the
 * counters' own, so they begin for everybody at once.
 */
export function createThrottle({ name, allowances, counters, now = Date.now }: ThrottleParts): Throttle {
  const drawsOf = (account: string, address: string) => {
    const hashed = hash('sha256', account, 'base64url')
    return [
      { key: `${name}:pair:${hashed}:${address}`, ...allowances.pair },
      { key: `${name}:account:${hashed}`, ...allowances.account },
      { key: `${name}:address:${address}`, ...allowances.address },
    ] as const
  }
  const draw = async ({ key, attempts, window }: Draw) => {
    const budget = counters.take(key, attempts, 1, window)
    // One that is there at once is good until the next take only.
    return { key, window, budget: budget instanceof Promise ? await budget : { ...budget } }
  }
  return {
    async take(account, address) {
      const drawn = await Promise.all(drawsOf(account, address).map(draw))
      const full = drawn.filter(({ budget }) => !budget.granted)
      if (full.length === 0) return undefined
      for (const { key, window, budget } of drawn) if (budget.granted) counters.give(key, 1, window)
      return secondsUntil(
        full.map(({ budget }) => budget),
        now(),
      )
    },
    succeed(account, address) {
      const [pair, ...others] = drawsOf(account, address)
      counters.give(pair.key, pair.attempts, pair.window)
      for (const { key, window } of others) counters.give(key, 1, window)
    },
  }
}

interface Draw extends Allowance {
  readonly key: string
}

function secondsUntil(budgets: readonly Budget[], now: number): number {
  const end = Math.max(...budgets.map(({ resetAt }) => resetAt))
  return Math.max(1, Math.ceil(end - now / 1000))
}
