/** What deletions take with them: counted, and reported where it is much, since other writes wait for it. */
import type { Collection } from '../../../model/model.ts'
import type { Item } from './cascade-set.ts'

/** A deletion that removes or clears more items than these, beside its own, is reported. */
export const maxSilentCascade = 1000

/** One deletion. It may still be undone with its transaction. */
export interface Cascade {
  readonly collection: string
  readonly itemId: number
  /** How many items of each collection went, the first one too. */
  readonly removed: Readonly<Record<string, number>>
  /** How many references to them, by the collection that held them, were cleared. */
  readonly cleared: Readonly<Record<string, number>>
  /** From the first look for what refers to the item until the last row was deleted. */
  readonly durationMs: number
}

export type OnCascade = (cascade: Cascade) => void

interface Counted {
  readonly cascadeSet: {
    readonly collections: readonly Collection[]
    countOf(collection: Collection): number
  }
  readonly cleared: ReadonlyMap<string, number>
}

export class Cascades {
  readonly #onLarge: OnCascade | undefined
  /** Items that went, or lost a reference, with another one. */
  items = 0

  constructor(onLarge: OnCascade | undefined) {
    this.#onLarge = onLarge
  }

  /** `startedAt`: of `performance.now()`. */
  note({ collection, id }: Item, { cascadeSet, cleared }: Counted, startedAt: number): void {
    let items = -1
    for (const one of cascadeSet.collections) items += cascadeSet.countOf(one)
    for (const count of cleared.values()) items += count
    this.items += items
    if (items <= maxSilentCascade || this.#onLarge === undefined) return
    const removed = cascadeSet.collections.map(one => [one.name, cascadeSet.countOf(one)] as const)
    this.#onLarge({
      collection: collection.name,
      itemId: id,
      removed: Object.fromEntries(removed),
      cleared: Object.fromEntries(cleared),
      durationMs: performance.now() - startedAt,
    })
  }
}
