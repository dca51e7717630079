/**
 * Remembered anchors: at some offsets of a list, the position (the sort keys) of the row just before.
 * A deep page then begins at the nearest anchor instead of counting its way from the first row.
 */
import type { SqlValue } from './values.ts'

export interface Anchor {
  /** How many rows stand before this position, the position's own row included. */
  readonly offset: number
  readonly position: readonly SqlValue[]
}

/** Sorted by offset. */
export class Anchors {
  readonly #anchors: Anchor[] = []

  get size(): number {
    return this.#anchors.length
  }

  /** The last anchor at or before `offset`. */
  before(offset: number): Anchor | undefined {
    return this.#anchors[this.#index(offset + 1) - 1]
  }

  add(anchor: Anchor): void {
    const at = this.#index(anchor.offset)
    if (this.#anchors[at]?.offset === anchor.offset) this.#anchors[at] = anchor
    else this.#anchors.splice(at, 0, anchor)
  }

  /** The first index whose anchor has at least this offset. */
  #index(offset: number): number {
    let low = 0
    let high = this.#anchors.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#anchors[middle]?.offset ?? 0) < offset) low = middle + 1
      else high = middle
    }
    return low
  }
}
