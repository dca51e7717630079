/** The fields of a model that refer to a collection. */
import type { Collection, Field, Model, ToOne } from './model.ts'

/** A field by which items refer to others. */
export interface ReferringField {
  readonly collection: Collection
  readonly field: Field
  readonly onDelete: ToOne['onDelete']
}

export function referencesTo(
  target: Pick<Collection, 'name'>,
  { collections }: Pick<Model, 'collections'>,
): readonly ReferringField[] {
  return [...collections.values()].flatMap(collection =>
    [...collection.fields.values()].flatMap(field =>
      field.reference?.target === target.name
        ? [{ collection, field, onDelete: field.reference.onDelete }]
        : [],
    ),
  )
}
