/** Rows taken out with what depends on them: rows that cascade, and references that are cleared, each with its event. */
import type { Collection, Field } from '../../model/model.ts'
import { Row } from '../sql/row.ts'
import { sqlite } from '../sql/sqlite.ts'
import { deleteSql, eventSql, referringSql, rowSql } from '../sql/write.ts'
import { name, slot, sql } from '../sql/writer.ts'
import type { SqlValue } from '../values.ts'
import {
  ALL,
  clearedNames,
  Doomed,
  type Item,
  type Outcome,
  type Reference,
  referencesTo,
  stillReferred,
} from '../write/doomed.ts'
import type { Statement } from './connection.ts'
import type { WriteContext } from './writer.ts'

interface Referrer extends Reference {
  /** The ids of the rows that refer to an id, no more of them than the second slot says. */
  readonly rows: Statement
  readonly clear: Statement
  /** Lets a row refer to no row, while references are checked later: to the negative of its own id, and so to no other row's. */
  readonly detach: Statement
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
  #collect(first: Item): Doomed<Referrer> {
    const doomed = new Doomed<Referrer>()
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

  #requireUnreferred(each: Item, doomed: Doomed<Referrer>): void {
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

  #clear(each: Item, doomed: Doomed<Referrer>, now: string, changed: Set<string>): void {
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
    const changed = clearedNames(field, collection)
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
  #delete({ items, again }: Doomed<Referrer>): void {
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
    const made = referencesTo(target, this.#context.model).map(reference => this.#referrer(reference))
    this.#referrers.set(target.name, made)
    return made
  }

  #referrer(reference: Reference): Referrer {
    const { collection, field } = reference
    const { connection } = this.#context
    const touch = collection.fields.has('updated_at') ? sql`, "updated_at" = ${slot(1)}` : []
    return {
      ...reference,
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

function slots(values: readonly SqlValue[]) {
  return { args: [], userId: null, slots: values }
}
