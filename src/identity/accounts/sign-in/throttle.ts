/** Limits on attempts that may fail, by account, address and device. */
import { hash } from 'node:crypto'
import type { Budget, RateCounters } from '../../../engine/cluster/cluster.ts'

/** A number of attempts in a window of time. */
export interface Allowance {
  readonly attempts: number
  readonly windowSeconds: number
}

/** The answer to an attempt that is not made: too many came before it. */
export interface Throttled {
  readonly kind: 'throttled'
  /** Until the next attempt is allowed. */
  readonly seconds: number
}

const minuteSeconds = 60

export interface Allowances {
  /** One account from one address. */
  readonly pair: Allowance
  /** One account from anywhere. */
  readonly account?: Allowance
  /** One account from one network once `account` is used up, so that strangers cannot lock the owner out. */
  readonly spare?: Allowance
  /** One address, for any account. */
  readonly address: Allowance
  /** One account from a device that it knows, independent of all other attempts. All of these limits apply. */
  readonly device?: readonly Allowance[]
}

const daySeconds = 24 * 60 * minuteSeconds

/** `docs/limits.md` says what these limits mean for guessing passwords. */
export const signInAllowances: Allowances = {
  pair: { attempts: 10, windowSeconds: 15 * minuteSeconds },
  account: { attempts: 100, windowSeconds: 60 * minuteSeconds },
  spare: { attempts: 3, windowSeconds: daySeconds },
  address: { attempts: 50, windowSeconds: 15 * minuteSeconds },
  device: [
    { attempts: 10, windowSeconds: 15 * minuteSeconds },
    { attempts: 50, windowSeconds: daySeconds },
  ],
}

/** One-time codes have a million values. No spare attempts: only someone who knows the password gets here. */
export const codeAllowances: Allowances = {
  pair: { attempts: 10, windowSeconds: 15 * minuteSeconds },
  account: { attempts: 50, windowSeconds: 60 * minuteSeconds },
  address: { attempts: 50, windowSeconds: 15 * minuteSeconds },
  device: [
    { attempts: 5, windowSeconds: 15 * minuteSeconds },
    { attempts: 20, windowSeconds: daySeconds },
  ],
}

/** Passkeys cannot be guessed; these only bound the work. */
export const passkeyAllowances: Allowances = {
  pair: { attempts: 50, windowSeconds: 15 * minuteSeconds },
  address: { attempts: 50, windowSeconds: 15 * minuteSeconds },
  device: [{ attempts: 20, windowSeconds: 15 * minuteSeconds }],
}

/** For requests that send mail or create accounts. */
export const mailAllowances: Allowances = {
  pair: { attempts: 3, windowSeconds: 15 * minuteSeconds },
  account: { attempts: 6, windowSeconds: 60 * minuteSeconds },
  spare: { attempts: 1, windowSeconds: daySeconds },
  address: { attempts: 20, windowSeconds: 60 * minuteSeconds },
}

/** For requests of a new password. `resetMails` limits the messages. */
export const resetAllowances: Allowances = {
  pair: { attempts: 3, windowSeconds: 15 * minuteSeconds },
  address: { attempts: 20, windowSeconds: 60 * minuteSeconds },
  device: [{ attempts: 3, windowSeconds: 15 * minuteSeconds }],
}

/** For exports of all of an account's data, which read many rows. */
export const exportAllowances: Allowances = {
  pair: { attempts: 5, windowSeconds: 60 * minuteSeconds },
  account: { attempts: 5, windowSeconds: 60 * minuteSeconds },
  address: { attempts: 20, windowSeconds: 60 * minuteSeconds },
}

/** Mails to one address, in a window shorter than the lifetime of their links. */
export const resetMails: Allowance = { attempts: 4, windowSeconds: 30 * minuteSeconds }

/** Mails that notify a user of new keys and secrets. */
export const credentialMails: Allowance = { attempts: 5, windowSeconds: daySeconds }

export interface Throttle {
  /** Takes one attempt. Returns the seconds to wait if none is left. `device`: the id of a known device of the account. */
  take(account: string, address: string, device?: string): Promise<number | undefined>
  /** Call this after a success: neither this attempt nor the earlier ones from the same origin count. */
  succeed(account: string, address: string, device?: string): void
}

export interface ThrottleParts {
  /** Names the kind of attempt. Each has its own counters. */
  readonly name: string
  readonly allowances: Allowances
  /** Shared by all nodes. */
  readonly counters: RateCounters
  readonly now?: () => number
}

/** The network that one customer of an internet provider may have: a /48 for IPv6. `address`: see `budgetAddress`. */
function networkOf(address: string): string {
  return address.includes(':') ? `${address.split(':').slice(0, 3).join(':')}::/48` : address
}

interface Limit extends Allowance {
  readonly key: string
}

/** A limit after an attempt was taken from it, if one was left. */
interface TakenLimit extends Limit {
  readonly budget: Budget
}

/**
 * Attempts are counted for all nodes together, and before they are made, so concurrent ones cannot exceed a limit. The counters
 * define the windows, which begin at the same time for every key.
 */
export function createThrottle({ name, allowances, counters, now = Date.now }: ThrottleParts): Throttle {
  const limitsOf = (account: string, address: string) => {
    const accountHash = hash('sha256', account, 'base64url')
    const { pair, account: ofAccount, spare, address: ofAddress } = allowances
    return {
      pair: { key: `${name}:pair:${accountHash}:${address}`, ...pair },
      address: { key: `${name}:address:${address}`, ...ofAddress },
      account: ofAccount && { key: `${name}:account:${accountHash}`, ...ofAccount },
      spare: spare && { key: `${name}:spare:${accountHash}:${networkOf(address)}`, ...spare },
    }
  }
  const deviceLimits = (device: string | undefined): readonly Limit[] =>
    device === undefined
      ? []
      : (allowances.device ?? []).map(allowance => ({ key: `${name}:device:${device}`, ...allowance }))
  const takeOne = async ({ key, attempts, windowSeconds }: Limit): Promise<TakenLimit> => {
    const budget = counters.take(key, attempts, 1, windowSeconds)
    // Copied, because a budget that is returned synchronously is valid only until the next take.
    return { key, attempts, windowSeconds, budget: budget instanceof Promise ? await budget : { ...budget } }
  }
  /** Takes one attempt from each limit or from none. Returns the limits that had none left. */
  const takeFromAll = async (limits: readonly Limit[]): Promise<readonly TakenLimit[]> => {
    const results = await Promise.all(limits.map(takeOne))
    const exhausted = results.filter(({ budget }) => !budget.granted)
    if (exhausted.length === 0) return exhausted
    for (const { key, windowSeconds, budget } of results) {
      if (budget.granted) counters.give(key, 1, windowSeconds)
    }
    return exhausted
  }
  return {
    async take(account, address, device) {
      const ofDevice = deviceLimits(device)
      if (ofDevice.length > 0 && (await takeFromAll(ofDevice)).length === 0) return undefined
      const { pair, address: ofAddress, account: ofAccount, spare } = limitsOf(account, address)
      const exhausted = await takeFromAll([pair, ofAddress, ...(ofAccount ? [ofAccount] : [])])
      if (exhausted.length === 0) return undefined
      const isOnlyAccount = exhausted.length === 1 && exhausted[0]?.key === ofAccount?.key
      if (isOnlyAccount && spare && (await takeFromAll([pair, ofAddress, spare])).length === 0)
        return undefined
      return secondsUntil(
        exhausted.map(({ budget }) => budget),
        now(),
      )
    },
    succeed(account, address, device) {
      const ofDevice = deviceLimits(device)
      for (const { key, attempts, windowSeconds } of ofDevice) counters.give(key, attempts, windowSeconds)
      if (ofDevice.length > 0) return
      const { pair, ...others } = limitsOf(account, address)
      counters.give(pair.key, pair.attempts, pair.windowSeconds)
      for (const limit of Object.values(others)) if (limit) counters.give(limit.key, 1, limit.windowSeconds)
    },
  }
}

/** The seconds until all budgets are reset. */
function secondsUntil(budgets: readonly Budget[], nowMs: number): number {
  const end = Math.max(...budgets.map(({ resetAt }) => resetAt))
  return Math.max(1, Math.ceil(end - nowMs / 1000))
}
