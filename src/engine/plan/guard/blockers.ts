/** What a refused deletion may tell about the items that still refer to a deleted one. */

import type { Collection, Field } from '../../../model/model.ts'
import { and } from '../condition.ts'
import type { Condition } from '../guarded-conditions.ts'
import type { ModelView } from './model-view.ts'
import { isInScope } from './refusals.ts'

/**
 * The fields that refer to the collection, or to one that is deleted with it by cascade, and may refuse the deletion, also that they
 * are cleared: for each, the rows whose reference the caller may know of. Fields of which the caller may know nothing are missing.
 */
export function blockersOf(collection: Collection, view: ModelView): ReadonlyMap<Field, Condition> {
  const blockers = new Map<Field, Condition>()
  const deleted = new Set([collection.name])
  for (const target of deleted) {
    for (const referring of view.model.collections.values()) {
      for (const field of referring.fields.values()) {
        if (field.reference?.target !== target) continue
        if (field.reference.onDelete === 'cascade') deleted.add(referring.name)
        if (field.reference.onDelete !== 'cascade') addBlocker(blockers, referring, field, view)
      }
    }
  }
  return blockers
}

function addBlocker(
  blockers: Map<Field, Condition>,
  collection: Collection,
  field: Field,
  view: ModelView,
): void {
  if (!isInScope(view, 'read', collection)) return
  const known = and(view.readable(collection), view.visibleIn(collection, field))
  if (known.kind !== 'never') blockers.set(field, known)
}
