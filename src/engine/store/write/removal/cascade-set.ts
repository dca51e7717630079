/** The rows that are deleted together, whichever database they are in. */
import { ApiError } from '../../../../base/errors.ts'
import type { Principal } from '../../../../base/principal.ts'
import type { Collection, Field } from '../../../../model/model.ts'
import type { ReferringField } from '../../../../model/references.ts'
import type { ItemChange } from '../event.ts'
import type { QuerySteps, WriteScope } from '../steps.ts'

/** A row that is deleted, or whose reference is cleared. */
export interface CascadeItem {
  readonly collection: Collection
  readonly id: number
}

/** The deleted rows, in the order in which they were found: a row follows the row that it refers to. */
export class CascadeSet<R> {
  readonly items: CascadeItem[] = []
  /** References from rows that are already in the set. They form cycles. */
  readonly repeated: { readonly id: number; readonly referrer: R }[] = []
  readonly #ids = new Map<Collection, Set<number>>()

  /** Returns false if the set already contains it. */
  add(item: CascadeItem): boolean {
    const ids = this.#ids.get(item.collection)
    if (ids?.has(item.id)) return false
    if (ids === undefined) this.#ids.set(item.collection, new Set([item.id]))
    else ids.add(item.id)
    this.items.push(item)
    return true
  }

  has({ collection, id }: CascadeItem): boolean {
    return this.#ids.get(collection)?.has(id) ?? false
  }

  /** How many rows of a collection are deleted. */
  countOf(collection: Collection): number {
    return this.#ids.get(collection)?.size ?? 0
  }

  get collections(): readonly Collection[] {
    return [...this.#ids.keys()]
  }
}

/** The names of the changed fields in the event of a cleared reference. */
export function clearedNames(field: Field, { fields }: Collection): readonly string[] {
  return [field, fields.get('updated_at')].flatMap(changed =>
    changed === undefined || changed.internal || changed.writeOnly ? [] : [changed.name],
  )
}

/** The error for a row with references that the caller may not know of, or that only the database found. */
export function unknownReferenceError(cause?: unknown): ApiError {
  return new ApiError('CONFLICT', 'Other items still refer to this one.', { cause })
}

export function stillReferencedError(
  { collection, id }: CascadeItem,
  { collection: from, field }: ReferringField,
): ApiError {
  const message = `Items of ${from.name} still refer to item ${id} of ${collection.name}, by ${field.name}.`
  return new ApiError('CONFLICT', message)
}

/** A row that has lost its reference. */
export interface ClearedRow<S> {
  /** Without its facts; undefined if it is not logged. */
  readonly change: ItemChange | undefined
  /** Runs the limits and the check that reads, which see other rows: once the deletion has deleted its own. Undefined: there are none. */
  readonly verify: (() => QuerySteps<S, void>) | undefined
}

export interface Referrer<S> extends ReferringField {
  /** The ids of the rows that refer to an id. The second slot is the limit. */
  readonly rows: S
  /** Returns the event's text of the row with an id. */
  readonly text: S
  /** Clears the reference of an id, at the time of the second slot; returns the event's text. */
  readonly clear: S
  /** Clears the reference of the row with an id, and runs the collection's own code. Undefined: it has none, and no limits. */
  readonly checkedClear:
    | ((id: number, by: Principal, scope: WriteScope<S>) => QuerySteps<S, ClearedRow<S>>)
    | undefined
}

/** The effects of a deletion, determined before its rows are deleted. */
export interface RemovalEffects<S> {
  readonly cascadeSet: CascadeSet<Referrer<S>>
  /** The names of the collections whose rows are deleted. */
  readonly removed: ReadonlySet<string>
  /** The number of cleared references by collection. */
  readonly cleared: ReadonlyMap<string, number>
  /** The names whose versions increase: of all these collections, and of deleted records. */
  readonly changed: ReadonlySet<string>
}
