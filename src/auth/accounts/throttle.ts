/** Attempts that may fail: few at a time, by account, by address and by device. */
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
  /** One account from everywhere. */
  readonly account?: Allowance
  /** One account from one network, when the account's are used up: what strangers use up must not keep its owner out. */
  readonly spare?: Allowance
  /** One address, whatever it tries. */
  readonly address: Allowance
  /** One account from one device that is known to it, whatever others do. All of them hold. */
  readonly device?: readonly Allowance[]
}

const DAY = 24 * 60 * MINUTE

/** What follows from them for guessing stands in `docs/limits.md`. */
export const signInAllowances: Allowances = {
  pair: { attempts: 10, window: 15 * MINUTE },
  account: { attempts: 100, window: 60 * MINUTE },
  spare: { attempts: 3, window: DAY },
  address: { attempts: 50, window: 15 * MINUTE },
  device: [
    { attempts: 10, window: 15 * MINUTE },
    { attempts: 50, window: DAY },
  ],
}

/** One-time codes have a million values: without spare ones, since only who knows the password gets here. */
export const codeAllowances: Allowances = {
  pair: { attempts: 10, window: 15 * MINUTE },
  account: { attempts: 50, window: 60 * MINUTE },
  address: { attempts: 50, window: 15 * MINUTE },
  device: [
    { attempts: 5, window: 15 * MINUTE },
    { attempts: 20, window: DAY },
  ],
}

/** Nobody guesses a passkey: these only bound the work. */
export const passkeyAllowances: Allowances = {
  pair: { attempts: 50, window: 15 * MINUTE },
  address: { attempts: 50, window: 15 * MINUTE },
  device: [{ attempts: 20, window: 15 * MINUTE }],
}

/** For what sends mail or makes accounts. */
export const mailAllowances: Allowances = {
  pair: { attempts: 3, window: 15 * MINUTE },
  account: { attempts: 6, window: 60 * MINUTE },
  spare: { attempts: 1, window: DAY },
  address: { attempts: 20, window: 60 * MINUTE },
}

/** For asking for a new password. How much mail that makes, `resetMails` says. */
export const resetAllowances: Allowances = {
  pair: { attempts: 3, window: 15 * MINUTE },
  address: { attempts: 20, window: 60 * MINUTE },
  device: [{ attempts: 3, window: 15 * MINUTE }],
}

/** Messages to one address: in a window that is shorter than their links work. */
export const resetMails: Allowance = { attempts: 4, window: 30 * MINUTE }

export interface Throttle {
  /** Draws one attempt. Seconds to wait when there is none left, else undefined. `device`: one known to the account. */
  take(account: string, address: string, device?: string): Promise<number | undefined>
  /** The attempt succeeded: it does not count, and neither do those before it from there. */
  succeed(account: string, address: string, device?: string): void
}

export interface ThrottleParts {
  /** What is attempted: its counters are its own. */
  readonly name: string
  readonly allowances: Allowances
  /** Those of all nodes. */
  readonly counters: RateCounters
  readonly now?: () => number
}

/** What one customer of a provider may have: of IPv6 a /48. `address`: see `budgetAddress`. */
function networkOf(address: string): string {
  return address.includes(':') ? `${address.split(':').slice(0, 3).join(':')}::/48` : address
}

interface Draw extends Allowance {
  readonly key: string
}

interface Drawn extends Draw {
  readonly budget: Budget
}

/**
 * Counted over all nodes, and before the attempt: of many at once, no more come through than may. Windows are the
 * counters' own, so they begin for everybody at once.
 */
export function createThrottle({ name, allowances, counters, now = Date.now }: ThrottleParts): Throttle {
  const drawsOf = (account: string, address: string) => {
    const hashed = hash('sha256', account, 'base64url')
    const { pair, account: ofAccount, spare, address: ofAddress } = allowances
    return {
      pair: { key: `${name}:pair:${hashed}:${address}`, ...pair },
      address: { key: `${name}:address:${address}`, ...ofAddress },
      account: ofAccount && { key: `${name}:account:${hashed}`, ...ofAccount },
      spare: spare && { key: `${name}:spare:${hashed}:${networkOf(address)}`, ...spare },
    }
  }
  const deviceDraws = (device: string | undefined): readonly Draw[] =>
    device === undefined
      ? []
      : (allowances.device ?? []).map(each => ({ key: `${name}:device:${device}`, ...each }))
  const draw = async ({ key, attempts, window }: Draw): Promise<Drawn> => {
    const budget = counters.take(key, attempts, 1, window)
    // One that is there at once is good until the next take only.
    return { key, attempts, window, budget: budget instanceof Promise ? await budget : { ...budget } }
  }
  /** All of them, or none. Those that had nothing left. */
  const drawAll = async (draws: readonly Draw[]): Promise<readonly Drawn[]> => {
    const drawn = await Promise.all(draws.map(draw))
    const full = drawn.filter(({ budget }) => !budget.granted)
    if (full.length === 0) return full
    for (const { key, window, budget } of drawn) if (budget.granted) counters.give(key, 1, window)
    return full
  }
  return {
    async take(account, address, device) {
      const own = deviceDraws(device)
      if (own.length > 0 && (await drawAll(own)).length === 0) return undefined
      const { pair, address: ofAddress, account: ofAccount, spare } = drawsOf(account, address)
      const usual = [pair, ofAddress, ...(ofAccount ? [ofAccount] : [])]
      const full = await drawAll(usual)
      if (full.length === 0) return undefined
      const isOfAccount = full.length === 1 && full[0]?.key === ofAccount?.key
      if (isOfAccount && spare && (await drawAll([pair, ofAddress, spare])).length === 0) return undefined
      return secondsUntil(
        full.map(({ budget }) => budget),
        now(),
      )
    },
    succeed(account, address, device) {
      const own = deviceDraws(device)
      for (const { key, attempts, window } of own) counters.give(key, attempts, window)
      if (own.length > 0) return
      const { pair, ...others } = drawsOf(account, address)
      counters.give(pair.key, pair.attempts, pair.window)
      for (const other of Object.values(others)) if (other) counters.give(other.key, 1, other.window)
    },
  }
}

function secondsUntil(budgets: readonly Budget[], now: number): number {
  const end = Math.max(...budgets.map(({ resetAt }) => resetAt))
  return Math.max(1, Math.ceil(end - now / 1000))
}
