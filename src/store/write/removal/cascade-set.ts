/** The rows that a deletion takes with it, whichever database they are in. */
import { ApiError } from '../../../errors.ts'
import type { Collection, Field, Model, ToOne } from '../../../model/model.ts'
import type { Principal } from '../../../principal.ts'
import type { Steps, WriteScope } from '../steps.ts'

/** A row that goes, or one whose reference is cleared. */
export interface Item {
  readonly collection: Collection
  readonly id: number
}

/** A field by which items refer to others. */
export interface Reference {
  readonly collection: Collection
  readonly field: Field
  readonly onDelete: ToOne['onDelete']
}

/** The fields that refer to a collection. */
export function referencesTo(target: Collection, { collections }: Model): readonly Reference[] {
  return [...collections.values()].flatMap(collection =>
    [...collection.fields.values()].flatMap(field =>
      field.reference?.target === target.name
        ? [{ collection, field, onDelete: field.reference.onDelete }]
        : [],
    ),
  )
}

/** The rows that go, in the order in which they were found: what leads to a row comes before it. */
export class CascadeSet<R> {
  readonly items: Item[] = []
  /** References from rows that were found before they were followed: what makes rings. */
  readonly again: { readonly id: number; readonly referrer: R }[] = []
  readonly #ids = new Map<Collection, Set<number>>()

  /** Returns false for one that was found before. */
  add(item: Item): boolean {
    const ids = this.#ids.get(item.collection)
    if (ids?.has(item.id)) return false
    if (ids === undefined) this.#ids.set(item.collection, new Set([item.id]))
    else ids.add(item.id)
    this.items.push(item)
    return true
  }

  has({ collection, id }: Item): boolean {
    return this.#ids.get(collection)?.has(id) ?? false
  }

  /** How many of a collection go. */
  countOf(collection: Collection): number {
    return this.#ids.get(collection)?.size ?? 0
  }

  get collections(): readonly Collection[] {
    return [...this.#ids.keys()]
  }
}

/** The names that the event of a cleared reference tells as changed. */
export function clearedNames(field: Field, { fields }: Collection): readonly string[] {
  return [field, fields.get('updated_at')].flatMap(one =>
    one === undefined || one.internal || one.writeOnly ? [] : [one.name],
  )
}

/** Of a row to which the database itself knows references that the walk has not found. */
export function referredElsewhere(cause: unknown): ApiError {
  return new ApiError('CONFLICT', 'Other items still refer to this one.', { cause })
}

export function stillReferred({ collection, id }: Item, { collection: from, field }: Reference): ApiError {
  const message = `Items of ${from.name} still refer to item ${id} of ${collection.name}, by ${field.name}.`
  return new ApiError('CONFLICT', message)
}

export interface Referrer<S> extends Reference {
  /** The ids of the rows that refer to an id, no more of them than the second slot says. */
  readonly rows: S
  /** Clears the reference of an id, at the time of the second slot; returns the event's text. */
  readonly clear: S
  /** Clears the reference of an id with all that the collection's own code and its limits ask; undefined: they ask nothing. */
  readonly judged: ((id: number, by: Principal, scope: WriteScope<S>) => Steps<S, void>) | undefined
}

/** A removal as far as all databases do it: the rows themselves are still there. */
export interface Walked<S> {
  readonly cascadeSet: CascadeSet<Referrer<S>>
  /** The collections from which rows are taken, those that lost a reference, and all whose versions grow. */
  readonly removed: ReadonlySet<string>
  /** With how many references. */
  readonly cleared: ReadonlyMap<string, number>
  readonly changed: ReadonlySet<string>
}
