import { ApiError } from '../../base/errors.ts'

interface RefusedItem {
  readonly collection: { readonly name: string }
  readonly id: number
}

/** A deletion is refused because of the items that it would delete or change besides its own. */
export class CascadeTooLarge extends ApiError {
  /** The items that were found before the refusal: first the item itself, each one after an item that it refers to. */
  readonly found: readonly RefusedItem[]

  constructor(found: readonly RefusedItem[], maxItems: number) {
    const [first] = found
    super(
      'CONFLICT',
      `Deleting this item would delete or change more than ${maxItems} other items at once. An operator can delete it in slices: \`portico delete ${first?.collection.name} ${first?.id}\`.`,
    )
    this.found = found
  }
}
