/** How much each caller has open. Counted in this process, by each worker on its own. */
import { ApiError } from '../errors.ts'
import { isAnonymous, type Principal } from '../principal.ts'
import type { Bound, Kept } from './engine.ts'

export class Quota {
  readonly #open = new Map<string, number>()
  readonly #most: number
  readonly #what: string

  constructor(most: number, what: string) {
    this.#most = most
    this.#what = what
  }

  /** Takes one. Throws RATE_LIMITED when the caller has as many as one may. */
  take(key: string): void {
    const open = this.#open.get(key) ?? 0
    if (open >= this.#most) {
      throw new ApiError('RATE_LIMITED', `You have ${open} open ${this.#what}, and may have ${this.#most}.`)
    }
    this.#open.set(key, open + 1)
  }

  give(key: string): void {
    const open = (this.#open.get(key) ?? 0) - 1
    if (open > 0) this.#open.set(key, open)
    else this.#open.delete(key)
  }
}

/** What gives back, and does so once however often it is called. */
export type Release = () => void

function once(give: () => void): Release {
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    give()
  }
}

/** WebSockets and streams of events together: connections that a caller holds. */
export class ConnectionQuota {
  readonly #anonymous: Quota
  readonly #known: Quota

  /** `anonymous`: of an address without a credential; `known`: of a user or an app. */
  constructor(anonymous: number, known: number) {
    const what = 'WebSockets and event streams'
    this.#anonymous = new Quota(anonymous, what)
    this.#known = new Quota(known, what)
  }

  /** Throws RATE_LIMITED. */
  take({ access, budgetKey }: Principal): Release {
    const quota = isAnonymous(access) ? this.#anonymous : this.#known
    quota.take(budgetKey)
    return once(() => quota.give(budgetKey))
  }
}

export interface SubscriptionBounds {
  readonly maxSubscriptions: number
  /** Bytes that one subscription, and that all of one caller, may keep. */
  readonly maxSubscriptionBytes: number
  readonly maxCallerBytes: number
}

/** What one caller's subscriptions keep. */
interface Holding {
  bytes: number
  /** How many hold each document: what is shared counts once. */
  readonly documents: Map<Bound['prepared'], number>
}

const nothingKept: Kept = { key: '', documentBytes: 0, argumentBytes: 0 }

/** Open subscriptions, and the memory that they keep, over either transport. */
export class SubscriptionQuota {
  readonly #bounds: SubscriptionBounds
  readonly #count: Quota
  readonly #holdings = new Map<string, Holding>()

  constructor(bounds: SubscriptionBounds) {
    this.#bounds = bounds
    this.#count = new Quota(bounds.maxSubscriptions, 'subscriptions')
  }

  /** Throws PAYLOAD_TOO_LARGE where the subscription is too large, RATE_LIMITED where the caller has too much open. */
  take({ budgetKey }: Principal, { prepared, kept = nothingKept }: Bound): Release {
    this.#checkOne(kept)
    const holding: Holding = this.#holdings.get(budgetKey) ?? { bytes: 0, documents: new Map() }
    const shares = holding.documents.get(prepared) ?? 0
    const more = kept.argumentBytes + (shares === 0 ? kept.documentBytes : 0)
    this.#checkAll(holding.bytes + more)
    this.#count.take(budgetKey)
    holding.bytes += more
    holding.documents.set(prepared, shares + 1)
    this.#holdings.set(budgetKey, holding)
    return once(() => {
      this.#count.give(budgetKey)
      this.#give(budgetKey, holding, prepared, kept)
    })
  }

  #checkOne({ documentBytes, argumentBytes }: Kept): void {
    const { maxSubscriptionBytes: most } = this.#bounds
    const bytes = documentBytes + argumentBytes
    if (bytes <= most) return
    throw new ApiError(
      'PAYLOAD_TOO_LARGE',
      `The subscription would keep ${bytes} bytes, for its document and its arguments; at most ${most} are allowed.`,
    )
  }

  #checkAll(bytes: number): void {
    const { maxCallerBytes: most } = this.#bounds
    if (bytes <= most) return
    throw new ApiError(
      'RATE_LIMITED',
      `With this one your open subscriptions would keep ${bytes} bytes; at most ${most} are allowed. End another one first.`,
    )
  }

  #give(
    budgetKey: string,
    holding: Holding,
    prepared: Bound['prepared'],
    { argumentBytes, documentBytes }: Kept,
  ): void {
    holding.bytes -= argumentBytes
    const shares = (holding.documents.get(prepared) ?? 1) - 1
    if (shares > 0) return void holding.documents.set(prepared, shares)
    holding.documents.delete(prepared)
    holding.bytes -= documentBytes
    if (holding.documents.size === 0) this.#holdings.delete(budgetKey)
  }
}
