import { ApiError } from '../../base/errors.ts'

interface RefusedItem {
  readonly collection: { readonly name: string }
  readonly id: number
}

/** A deletion is refused because of the items that it would delete or change besides its own. */
export class CascadeTooLarge extends ApiError {
  constructor({ collection, id }: RefusedItem, maxItems: number) {
    super(
      'CONFLICT',
      `Deleting this item would delete or change more than ${maxItems} other items at once. An operator can delete it in slices: \`portico delete ${collection.name} ${id}\`.`,
    )
  }
}
