/** How many connections and distinct requests for events each caller may have open. Each worker counts its own. */
import { isAnonymous, type Principal } from '../../base/principal.ts'
import { Quota, type Release, releaseOnce, tooManyOpen } from '../../base/quota.ts'

/** Counts WebSockets, event streams and long polls together: connections that a caller keeps open. */
export class ConnectionQuota {
  readonly #anonymous: Quota
  readonly #identified: Quota

  /** The maximum for an address without a credential, and for a user or an app. */
  constructor(maxAnonymous: number, maxIdentified: number) {
    const pluralNoun = 'WebSockets, event streams and long polls'
    this.#anonymous = new Quota(maxAnonymous, pluralNoun)
    this.#identified = new Quota(maxIdentified, pluralNoun)
  }

  /** Throws RATE_LIMITED. */
  take({ access, budgetKey }: Principal): Release {
    const quota = isAnonymous(access) ? this.#anonymous : this.#identified
    quota.take(budgetKey)
    return releaseOnce(() => quota.release(budgetKey))
  }
}

/**
 * Counts the groups in which each caller has subscribers. Every event is rendered for each group: a caller with many groups
 * would delay the events of all others.
 */
export class GroupQuota {
  /** How many subscribers a caller has in each group, by caller and group. */
  readonly #callers = new Map<string, Map<string, number>>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  /** Throws RATE_LIMITED if `group` would be one more than the maximum. */
  require(caller: string, group: string): void {
    const groups = this.#callers.get(caller)
    const open = groups?.size ?? 0
    if (open < this.#max || groups?.has(group)) return
    throw tooManyOpen(open, 'subscriptions, event streams and long polls with different requests', this.#max)
  }

  /** Counts one more subscriber of the caller in the group. */
  take(caller: string, group: string): void {
    const groups = this.#callers.get(caller) ?? new Map<string, number>()
    this.#callers.set(caller, groups.set(group, (groups.get(group) ?? 0) + 1))
  }

  release(caller: string, group: string): void {
    const groups = this.#callers.get(caller)
    const subscribers = groups?.get(group) ?? 0
    if (subscribers > 1) return void groups?.set(group, subscribers - 1)
    groups?.delete(group)
    if (groups?.size === 0) this.#callers.delete(caller)
  }
}
