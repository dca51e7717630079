/** The shapes of plans that read a logged change as one listener may see it. */
import { Cache, CacheBound } from '../../base/cache.ts'
import type { AccessClass } from '../../base/principal.ts'
import type { LoggedChange } from '../../engine/plan/change-feed.ts'
import { namesFor } from '../../engine/plan/guard/guard.ts'
import type { CompositeShape, Filter, ItemRoot, LoggedRow } from '../../engine/plan/plan.ts'
import { selected } from '../../engine/plan/system-plans.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Collection, Model } from '../../model/model.ts'
import type { Rule } from '../../model/rule/rule.ts'

/** A listener's own condition on the items. */
export interface EventFilter {
  readonly filter: Filter
  /** The filter's arguments, which begin at the parameter `firstFilterParam`. */
  readonly args: readonly JsonValue[]
}

const idParam = 0
const rowAfter: LoggedRow = { row: 1, facts: 2, at: 5 }
const rowBefore: LoggedRow = { row: 3, facts: 4, at: 5 }
/** The parameters of a filter begin here. */
export const firstFilterParam = 6

/** The shapes for listeners with the same readable fields and the same filter. */
export interface EventShapes {
  /** The fields of the data, in order. */
  readonly fields: readonly string[]
  /** The answer has `after`. */
  readonly row: CompositeShape
  /**
   * The answer has `after` and `before`. With a filter, `before` only tells whether the row before matched it, and `was` is
   * that row even if it did not.
   */
  readonly rows: CompositeShape
}

const maxShapes = 1000

export type ShapesOf = (
  collection: Collection,
  access: AccessClass,
  filter: EventFilter | undefined,
  /** A rule that must hold for the item, besides the rule of the collection. */
  rule?: Rule,
  /** Some of the fields that the listener may read; undefined: all of them. */
  only?: readonly string[],
) => EventShapes

/** Equal shapes are one object: the guard and the store cache by it. */
export function createEventShapes(model: Model): ShapesOf {
  const shapesByKey = new Cache<string, EventShapes>(new CacheBound('event_shapes', maxShapes))
  /** By the filter, or by the model if there is none. A listener's filter remains the same object. */
  const byFilter = new WeakMap<object, WeakMap<AccessClass, Map<Collection, EventShapes>>>()

  function findShapes(
    collection: Collection,
    access: AccessClass,
    filter: Filter | undefined,
    rule?: Rule,
    fields: readonly string[] = [...namesFor(model, collection, access).fields.keys()],
  ): EventShapes {
    const key = JSON.stringify([collection.name, fields, filter, rule])
    const shapes = shapesByKey.get(key) ?? makeShapes(collection, fields, filter, rule)
    shapesByKey.set(key, shapes)
    return shapes
  }

  return (collection, access, filter, rule, only) => {
    if (rule !== undefined || only !== undefined)
      return findShapes(collection, access, filter?.filter, rule, only)
    const byAccess = byFilter.get(filter ?? model) ?? new WeakMap<AccessClass, Map<Collection, EventShapes>>()
    byFilter.set(filter ?? model, byAccess)
    const byCollection = byAccess.get(access) ?? new Map<Collection, EventShapes>()
    byAccess.set(access, byCollection)
    const shapes = byCollection.get(collection) ?? findShapes(collection, access, filter?.filter)
    byCollection.set(collection, shapes)
    return shapes
  }
}

function makeShapes(
  { name: collection }: Collection,
  fields: readonly string[],
  filter: Filter | undefined,
  rule: Rule | undefined,
): EventShapes {
  const select = selected(fields)
  const after: ItemRoot = {
    kind: 'item',
    key: 'after',
    collection,
    id: idParam,
    event: rowAfter,
    filter,
    select,
    ...(rule && { rule }),
  }
  const before: ItemRoot = { ...after, key: 'before', event: rowBefore }
  const was: ItemRoot = { ...before, key: 'was', filter: undefined }
  const roots = filter ? [after, { ...before, select: selected(['id']) }, was] : [after, before]
  return {
    fields,
    row: { kind: 'composite', roots: [after] },
    rows: { kind: 'composite', roots },
  }
}

/** The arguments of both shapes. */
export function argumentsFor(
  { id, row, facts, before, factsBefore, at }: LoggedChange,
  filterArgs: readonly JsonValue[],
): readonly JsonValue[] {
  return [id, row, facts, before, factsBefore, at, ...filterArgs]
}

function actorShape(collection: string): CompositeShape {
  return {
    kind: 'composite',
    roots: [{ kind: 'item', key: 'actor', collection, id: 0, select: selected(['id']) }],
  }
}

/** The user or the app who acted, if the caller may read them. Arguments: the id. */
export const actorShapes = { user: actorShape('users'), app: actorShape('oauth_apps') } as const
