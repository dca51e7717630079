/**
 * Remembered anchors: at some offsets of a list, the position (the sort keys) of the row just before.
 * A deep page then begins at the nearest anchor instead of counting its way from the first row.
 */
import type { GuardedList } from '../plan/guarded.ts'
import type { PageWindow } from '../plan/plan.ts'
import type { Inputs, SqlValue } from './values.ts'

/** Below this offset, counting rows is as cheap as looking for an anchor. */
export const SHALLOW = 200
/** Anchored lists per shape: arguments and users differ. */
const MAX_LISTS = 20
const MAX_ANCHORS = 20_000

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

/** The anchors of all lists of one shape. */
export class AnchoredLists {
  readonly #shape: GuardedList
  readonly #window: PageWindow
  readonly #lists = new Map<string, Anchors>()
  #stamp = -1

  constructor(shape: GuardedList, window: PageWindow) {
    this.#shape = shape
    this.#window = window
  }

  /** Those of the list that is asked for; none from before `stamp` changed. */
  of({ args, userId }: Inputs, stamp: number): Anchors {
    if (stamp !== this.#stamp || this.#lists.size > MAX_LISTS) this.#lists.clear()
    this.#stamp = stamp
    const { offset, limit } = this.#window
    const others = args.map((value, index) => (index === offset || index === limit ? null : value))
    const key = JSON.stringify(this.#shape.personal ? [userId, others] : others)
    const known = this.#lists.get(key)
    if (known !== undefined && known.size < MAX_ANCHORS) return known
    const made = new Anchors()
    this.#lists.set(key, made)
    return made
  }
}
