/** How many subscriptions each caller may have open, and how much memory they may take, over all transports. */
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import { Quota, type Release, releaseOnce } from '../../../base/quota.ts'
import type { BoundOperation, Retained } from '../engine.ts'

export interface SubscriptionLimits {
  /** Open subscriptions of one caller. */
  readonly maxSubscriptions: number
  /** Bytes that one subscription, and that all of one caller, may retain. */
  readonly maxSubscriptionBytes: number
  readonly maxCallerBytes: number
}

/** What one caller's subscriptions retain. */
interface Usage {
  bytes: number
  /** How many subscriptions share each document: its bytes count once. */
  readonly documents: Map<BoundOperation['prepared'], number>
}

const noRetained: Retained = { key: '', documentBytes: 0, argumentBytes: 0 }

export class SubscriptionQuota {
  readonly #limits: SubscriptionLimits
  readonly #count: Quota
  readonly #usages = new Map<string, Usage>()

  constructor(limits: SubscriptionLimits) {
    this.#limits = limits
    this.#count = new Quota(limits.maxSubscriptions, 'subscriptions')
  }

  /** Throws PAYLOAD_TOO_LARGE for a subscription that is too large, RATE_LIMITED when the caller has too many open. */
  take({ budgetKey }: Principal, { prepared, retained = noRetained }: BoundOperation): Release {
    this.#checkSubscription(retained)
    const usage: Usage = this.#usages.get(budgetKey) ?? { bytes: 0, documents: new Map() }
    const subscriptionsOfDocument = usage.documents.get(prepared) ?? 0
    const bytes = retained.argumentBytes + (subscriptionsOfDocument === 0 ? retained.documentBytes : 0)
    this.#checkCaller(usage.bytes + bytes)
    this.#count.take(budgetKey)
    usage.bytes += bytes
    usage.documents.set(prepared, subscriptionsOfDocument + 1)
    this.#usages.set(budgetKey, usage)
    return releaseOnce(() => {
      this.#count.release(budgetKey)
      this.#release(budgetKey, usage, prepared, retained)
    })
  }

  #checkSubscription({ documentBytes, argumentBytes }: Retained): void {
    const { maxSubscriptionBytes: max } = this.#limits
    const bytes = documentBytes + argumentBytes
    if (bytes <= max) return
    throw new ApiError(
      'PAYLOAD_TOO_LARGE',
      `The subscription would retain ${bytes} bytes, for its document and its arguments; at most ${max} are allowed.`,
    )
  }

  #checkCaller(bytes: number): void {
    const { maxCallerBytes: max } = this.#limits
    if (bytes <= max) return
    throw new ApiError(
      'RATE_LIMITED',
      `With this one, your open subscriptions would retain ${bytes} bytes; at most ${max} are allowed. Close another one first.`,
    )
  }

  #release(
    budgetKey: string,
    usage: Usage,
    prepared: BoundOperation['prepared'],
    { argumentBytes, documentBytes }: Retained,
  ): void {
    usage.bytes -= argumentBytes
    const subscriptionsOfDocument = (usage.documents.get(prepared) ?? 1) - 1
    if (subscriptionsOfDocument > 0) return void usage.documents.set(prepared, subscriptionsOfDocument)
    usage.documents.delete(prepared)
    usage.bytes -= documentBytes
    if (usage.documents.size === 0) this.#usages.delete(budgetKey)
  }
}
