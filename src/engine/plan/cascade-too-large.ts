import { ApiError } from '../../base/errors.ts'

/** A deletion is refused because of the items that it would delete or change besides its own. */
export class CascadeTooLarge extends ApiError {
  constructor(collection: string, id: number, maxItems: number) {
    super(
      'CONFLICT',
      `Deleting this item would delete or change more than ${maxItems} other items at once. An operator can delete it in slices: \`portico delete ${collection} ${id}\`.`,
    )
  }
}
