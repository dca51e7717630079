/** Counts the items to which deletions cascade, reports large cascades, for which other writes wait, and refuses larger ones. */
import { ApiError } from '../../../../base/errors.ts'
import type { Collection } from '../../../../model/model.ts'
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

export interface CascadeOptions {
  /** Called after a large one. */
  readonly onLarge?: ((cascade: Cascade) => void) | undefined
  /** A deletion that would delete more items besides its own, or clear more references, is refused; default: none is. */
  readonly maxItems?: number | undefined
}

function stepTooLargeError(maxItems: number): ApiError {
  const items = `more than ${maxItems} other items at once`
  return new ApiError(
    'CONFLICT',
    `Deleting these items would delete or change ${items}. Delete fewer: say \`limit\`.`,
  )
}

interface CascadeCounts {
  readonly cascadeSet: {
    readonly collections: readonly Collection[]
    countOf(collection: Collection): number
  }
  readonly cleared: ReadonlyMap<string, number>
}

/** More than any database has. */
const unbounded = 1_000_000_000_000

export class Cascades {
  readonly #onLarge: CascadeOptions['onLarge']
  readonly maxItems: number
  /** The number of items that were deleted, or lost a reference, with another one. */
  items = 0

  constructor({ onLarge, maxItems = unbounded }: CascadeOptions = {}) {
    this.#onLarge = onLarge
    this.maxItems = maxItems
  }

  /** Returns a function that throws once the deletions of one step together exceed the bound of one. */
  newStep(): (cascaded: number | undefined) => void {
    let items = 0
    return (cascaded = 0) => {
      items += cascaded
      if (items > this.maxItems) throw stepTooLargeError(this.maxItems)
    }
  }

  /** Returns the number of other items. `startedAt`: of `performance.now()`. */
  record({ collection, id }: CascadeItem, { cascadeSet, cleared }: CascadeCounts, startedAt: number): number {
    let items = -1
    for (const deleted of cascadeSet.collections) items += cascadeSet.countOf(deleted)
    for (const count of cleared.values()) items += count
    this.items += items
    if (items <= maxUnreportedCascade || this.#onLarge === undefined) return items
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
    return items
  }
}
