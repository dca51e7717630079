/** Limits on attempts that may fail, by account, address and device. */
import { hash } from 'node:crypto'
import type { Budget, RateCounters } from '../../../cluster/cluster.ts'

/** A number of attempts in a window, in seconds. */
export interface Allowance {
  readonly attempts: number
  readonly window: number
}

const minuteSeconds = 60

export interface Allowances {
  /** One account from one address. */
  readonly pair: Allowance
  /** One account from anywhere. */
  readonly account?: Allowance
  /** One account from one network when `account` is used up, so that strangers cannot lock the owner out. */
  readonly spare?: Allowance
  /** One address, for any account. */
  readonly address: Allowance
  /** One account from a device that it knows, independent of all other attempts. All of these limits apply. */
  readonly device?: readonly Allowance[]
}

const daySeconds = 24 * 60 * minuteSeconds

/** What these limits mean for guessing passwords: see `docs/limits.md`. */
export const signInAllowances: Allowances = {
  pair: { attempts: 10, window: 15 * minuteSeconds },
  account: { attempts: 100, window: 60 * minuteSeconds },
  spare: { attempts: 3, window: daySeconds },
  address: { attempts: 50, window: 15 * minuteSeconds },
  device: [
    { attempts: 10, window: 15 * minuteSeconds },
    { attempts: 50, window: daySeconds },
  ],
}

/** One-time codes have a million values. No spare attempts: only someone who knows the password gets here. */
export const codeAllowances: Allowances = {
  pair: { attempts: 10, window: 15 * minuteSeconds },
  account: { attempts: 50, window: 60 * minuteSeconds },
  address: { attempts: 50, window: 15 * minuteSeconds },
  device: [
    { attempts: 5, window: 15 * minuteSeconds },
    { attempts: 20, window: daySeconds },
  ],
}

/** Passkeys cannot be guessed; these only bound the work. */
export const passkeyAllowances: Allowances = {
  pair: { attempts: 50, window: 15 * minuteSeconds },
  address: { attempts: 50, window: 15 * minuteSeconds },
  device: [{ attempts: 20, window: 15 * minuteSeconds }],
}

/** For requests that send mail or create accounts. */
export const mailAllowances: Allowances = {
  pair: { attempts: 3, window: 15 * minuteSeconds },
  account: { attempts: 6, window: 60 * minuteSeconds },
  spare: { attempts: 1, window: daySeconds },
  address: { attempts: 20, window: 60 * minuteSeconds },
}

/** For requests of a new password. `resetMails` limits the messages. */
export const resetAllowances: Allowances = {
  pair: { attempts: 3, window: 15 * minuteSeconds },
  address: { attempts: 20, window: 60 * minuteSeconds },
  device: [{ attempts: 3, window: 15 * minuteSeconds }],
}

/** For exports of all of an account's data, which read many rows. */
export const exportAllowances: Allowances = {
  pair: { attempts: 5, window: 60 * minuteSeconds },
  account: { attempts: 5, window: 60 * minuteSeconds },
  address: { attempts: 20, window: 60 * minuteSeconds },
}

/** Mails to one address, in a window shorter than the lifetime of their links. */
export const resetMails: Allowance = { attempts: 4, window: 30 * minuteSeconds }

/** Mails that notify a user of new keys and secrets. */
export const credentialMails: Allowance = { attempts: 5, window: daySeconds }

export interface Throttle {
  /** Takes one attempt. Returns the seconds to wait if none is left. `device`: one that the account knows. */
  take(account: string, address: string, device?: string): Promise<number | undefined>
  /** To be called after a success: neither this attempt nor the earlier ones from the same place count. */
  succeed(account: string, address: string, device?: string): void
}

export interface ThrottleParts {
  /** What is attempted. Each name has its own counters. */
  readonly name: string
  readonly allowances: Allowances
  /** Shared by all nodes. */
  readonly counters: RateCounters
  readonly now?: () => number
}

/** The network that a single customer of an internet provider may have: for IPv6 a /48. `address`: see `budgetAddress`. */
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
 * Attempts are counted on all nodes together and before they are made, so concurrent ones cannot exceed the limit. The windows
 * are those of the counters, so they begin at the same time for every key.
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
    // A counter that answers synchronously is valid until the next take only.
    return { key, attempts, window, budget: budget instanceof Promise ? await budget : { ...budget } }
  }
  /** Takes one attempt from each or from none. Returns those that had none left. */
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
