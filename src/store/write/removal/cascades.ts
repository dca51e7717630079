/** Counts the items to which deletions cascade, and reports large cascades, for which other writes wait. */
import type { Collection } from '../../../model/model.ts'
import type { CascadeItem } from './cascade-set.ts'

/** A deletion that deletes more items besides its own, or clears their references, is reported. */
export const maxUnreportedCascade = 1000

/** One deletion. It may still be undone with its transaction. */
export interface Cascade {
  readonly collection: string
  readonly itemId: number
  /** The number of deleted items by collection, including the first one. */
  readonly removed: Readonly<Record<string, number>>
  /** The number of cleared references by the collection that held them. */
  readonly cleared: Readonly<Record<string, number>>
  /** From the first search for referring rows until the last row was deleted. */
  readonly durationMs: number
}

export type OnCascade = (cascade: Cascade) => void

interface CascadeCounts {
  readonly cascadeSet: {
    readonly collections: readonly Collection[]
    countOf(collection: Collection): number
  }
  readonly cleared: ReadonlyMap<string, number>
}

export class Cascades {
  readonly #onLarge: OnCascade | undefined
  /** The number of items that were deleted, or lost a reference, with another one. */
  items = 0

  constructor(onLarge: OnCascade | undefined) {
    this.#onLarge = onLarge
  }

  /** `startedAt`: of `performance.now()`. */
  record({ collection, id }: CascadeItem, { cascadeSet, cleared }: CascadeCounts, startedAt: number): void {
    let items = -1
    for (const deleted of cascadeSet.collections) items += cascadeSet.countOf(deleted)
    for (const count of cleared.values()) items += count
    this.items += items
    if (items <= maxUnreportedCascade || this.#onLarge === undefined) return
    const removed = cascadeSet.collections.map(
      deleted => [deleted.name, cascadeSet.countOf(deleted)] as const,
    )
    this.#onLarge({
      collection: collection.name,
      itemId: id,
      removed: Object.fromEntries(removed),
      cleared: Object.fromEntries(cleared),
      durationMs: performance.now() - startedAt,
    })
  }
}
