/** How many things of one kind each caller may have open or running. Each worker counts its own. */
import { ApiError } from './errors.ts'

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
    if (open >= this.#max) throw tooManyOpen(open, this.#pluralNoun, this.#max)
    this.#open.set(key, open + 1)
  }

  release(key: string): void {
    const open = (this.#open.get(key) ?? 0) - 1
    if (open > 0) this.#open.set(key, open)
    else this.#open.delete(key)
  }
}

export function tooManyOpen(open: number, pluralNoun: string, max: number): ApiError {
  return new ApiError('RATE_LIMITED', `You have ${open} open ${pluralNoun}; the maximum is ${max}.`)
}

/** Releases what was taken. Only the first call has an effect. */
export type Release = () => void

export function releaseOnce(release: () => void): Release {
  let isReleased = false
  return () => {
    if (isReleased) return
    isReleased = true
    release()
  }
}
