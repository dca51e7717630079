/** Rows taken out with what depends on them: rows that cascade, and references that are cleared, each with its event. */
import { ApiError } from '../../errors.ts'
import type { Collection, Field, ToOne } from '../../model/model.ts'
import type { Statement } from '../connection.ts'
import { Row } from '../sql/row.ts'
import { sqlite } from '../sql/sqlite.ts'
import { deleteSql, eventSql, referringSql, rowSql } from '../sql/write.ts'
import { name, slot, sql } from '../sql/writer.ts'
import type { SqlValue } from '../values.ts'
import type { WriteContext } from './context.ts'

interface Referrer {
  readonly collection: Collection
  readonly onDelete: ToOne['onDelete']
  readonly field: Field
  /** The ids of the rows that refer to an id, no more of them than the second slot says. */
  readonly rows: Statement
  readonly clear: Statement
  /** Lets a row refer to no row, while references are checked later: to the negative of its own id, and so to no other row's. */
  readonly detach: Statement
}

/** A limit that bounds nothing. */
const ALL = Number.MAX_SAFE_INTEGER

/** A row that goes, or one whose reference is cleared. */
interface Item {
  readonly collection: Collection
  readonly id: number
}

/** The rows that go, in the order in which they were found: what leads to a row comes before it. */
class Doomed {
  readonly items: Item[] = []
  /** References from rows that were found before they were followed: what makes rings. */
  readonly again: { readonly id: number; readonly referrer: Referrer }[] = []
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

interface Outcome {
  readonly changed: Set<string>
  readonly removed: Set<string>
}

export class Removal {
  readonly #context: WriteContext
  readonly #referrers = new Map<string, readonly Referrer[]>()
  readonly #statements = new Map<string, { readonly state: Statement; readonly remove: Statement }>()

  constructor(context: WriteContext) {
    this.#context = context
  }

  /** Throws CONFLICT when a row that stays, and must not lose its reference, refers to one that goes. */
  remove(collection: Collection, id: number, now: string): Outcome {
    const doomed = this.#collect({ collection, id })
    for (const each of doomed.items) this.#requireUnreferred(each, doomed)
    const removed = new Set(doomed.collections.map(one => one.name))
    const changed = new Set(removed)
    for (const each of doomed.items) this.#clear(each, doomed, now, changed)
    for (const each of doomed.items) this.#log(each, now)
    this.#delete(doomed)
    return { changed, removed }
  }

  /** The row and all that cascade from it, each once. */
  #collect(first: Item): Doomed {
    const doomed = new Doomed()
    doomed.add(first)
    // The list grows while it is walked.
    for (const each of doomed.items) {
      for (const referrer of this.#referrersOf(each.collection)) {
        const { collection, onDelete, rows } = referrer
        if (onDelete !== 'cascade') continue
        for (const [value] of rows.all(slots([each.id, ALL]))) {
          const id = Number(value)
          if (!doomed.add({ collection, id })) doomed.again.push({ id, referrer })
        }
      }
    }
    return doomed
  }

  #requireUnreferred(each: Item, doomed: Doomed): void {
    for (const referrer of this.#referrersOf(each.collection)) {
      if (referrer.onDelete !== 'restrict') continue
      const { collection, rows } = referrer
      // Among one more than those that go is one that stays, if there is any.
      const referring = rows.all(slots([each.id, doomed.countOf(collection) + 1]))
      if (!referring.every(([id]) => doomed.has({ collection, id: Number(id) }))) {
        throw stillReferred(each, referrer)
      }
    }
  }

  #clear(each: Item, doomed: Doomed, now: string, changed: Set<string>): void {
    for (const referrer of this.#referrersOf(each.collection)) {
      if (referrer.onDelete !== 'clear') continue
      const { collection, rows, clear } = referrer
      for (const [value] of rows.all(slots([each.id, ALL]))) {
        const id = Number(value)
        if (doomed.has({ collection, id })) continue
        clear.run(slots([id, now]))
        changed.add(collection.name)
        this.#logCleared({ collection, id }, referrer.field, now)
      }
    }
  }

  #logCleared(item: Item, field: Field, now: string): void {
    const { collection, id } = item
    const changed = [field, collection.fields.get('updated_at')].flatMap(one =>
      one === undefined || one.internal || one.writeOnly ? [] : [one.name],
    )
    const data = this.#state(item)
    this.#context.events.add({
      at: now,
      collection: collection.name,
      itemId: id,
      kind: 'updated',
      data,
      changed,
    })
  }

  #log(item: Item, now: string): void {
    this.#context.events.add({
      at: now,
      collection: item.collection.name,
      itemId: item.id,
      kind: 'deleted',
      data: this.#state(item),
      changed: undefined,
    })
  }

  /**
   * The last found first, and no rings, so that nothing is left for the tables' own cascades: they nest no
   * deeper than 1,000. Other references may lead any way, so they are checked after the last.
   */
  #delete({ items, again }: Doomed): void {
    const { connection } = this.#context
    if (items.length > 1) connection.deferReferences(true)
    try {
      if (items.length > 1) for (const { id, referrer } of again) referrer.detach.run(slots([id]))
      for (const { collection, id } of items.toReversed()) this.#of(collection).remove.run(slots([id]))
    } finally {
      if (items.length > 1) connection.deferReferences(false)
    }
  }

  #state({ collection, id }: Item): SqlValue {
    return this.#of(collection).state.get(slots([id]))?.[0] ?? null
  }

  #of(collection: Collection) {
    const known = this.#statements.get(collection.name)
    if (known) return known
    const { connection } = this.#context
    const row = new Row(sqlite, collection.name)
    const made = {
      state: connection.prepare(rowSql(row, slot(0), [eventSql(collection, row)])),
      remove: connection.prepare(deleteSql(collection.name, slot(0))),
    }
    this.#statements.set(collection.name, made)
    return made
  }

  #referrersOf(target: Collection): readonly Referrer[] {
    const known = this.#referrers.get(target.name)
    if (known) return known
    const made = [...this.#context.model.collections.values()].flatMap(collection =>
      [...collection.fields.values()].flatMap(field =>
        field.reference?.target === target.name ? [this.#referrer(collection, field, field.reference)] : [],
      ),
    )
    this.#referrers.set(target.name, made)
    return made
  }

  #referrer(collection: Collection, field: Field, { onDelete }: ToOne): Referrer {
    const { connection } = this.#context
    const touch = collection.fields.has('updated_at') ? sql`, "updated_at" = ${slot(1)}` : []
    return {
      collection,
      field,
      onDelete,
      rows: connection.prepare(referringSql(collection.name, field.name, slot(0), slot(1))),
      clear: connection.prepare(
        sql`UPDATE ${name(collection.name)} SET ${name(field.name)} = NULL${touch} WHERE "id" = ${slot(0)}`,
      ),
      detach: connection.prepare(
        sql`UPDATE ${name(collection.name)} SET ${name(field.name)} = -"id" WHERE "id" = ${slot(0)}`,
      ),
    }
  }
}

function stillReferred({ collection, id }: Item, referrer: Referrer): ApiError {
  const message = `Items of ${referrer.collection.name} still refer to item ${id} of ${collection.name}, by ${referrer.field.name}.`
  return new ApiError('CONFLICT', message)
}

function slots(values: readonly SqlValue[]) {
  return { args: [], userId: null, slots: values }
}
