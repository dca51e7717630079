/** How many connections each caller may have open. Each worker counts its own. */
import { ApiError } from '../errors.ts'
import { isAnonymous, type Principal } from '../principal.ts'

export class Quota {
  readonly #open = new Map<string, number>()
  readonly #max: number
  readonly #pluralNoun: string

  /** `pluralNoun`: what is counted. */
  constructor(max: number, pluralNoun: string) {
    this.#max = max
    this.#pluralNoun = pluralNoun
  }

  /** Counts one more. Throws RATE_LIMITED if the caller already has the maximum open. */
  take(key: string): void {
    const open = this.#open.get(key) ?? 0
    if (open >= this.#max) {
      throw new ApiError(
        'RATE_LIMITED',
        `You have ${open} open ${this.#pluralNoun}; the maximum is ${this.#max}.`,
      )
    }
    this.#open.set(key, open + 1)
  }

  release(key: string): void {
    const open = (this.#open.get(key) ?? 0) - 1
    if (open > 0) this.#open.set(key, open)
    else this.#open.delete(key)
  }
}

/** Releases one connection. Only the first call has an effect. */
export type Release = () => void

export function releaseOnce(release: () => void): Release {
  let isReleased = false
  return () => {
    if (isReleased) return
    isReleased = true
    release()
  }
}

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
