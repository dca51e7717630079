/** How many things each caller has open. */
import { ApiError } from '../errors.ts'

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
