/**
 * What a deletion takes with it, on every database: rows that cascade, and references that are cleared, each with
 * its event. The walk yields what it asks and is given the rows, so that a database may answer at once or later.
 */
import type { Collection, Model, ToOne } from '../../model/model.ts'
import { once } from '../once.ts'
import { recordSql, versionName } from '../records.ts'
import type { Dialect } from '../sql/dialect.ts'
import { Row } from '../sql/row.ts'
import { deleteSql, eventSql, referringSql, rowSql } from '../sql/write.ts'
import { name, type Sql, slot, sql } from '../sql/writer.ts'
import type { ResultRow, SqlValue } from '../values.ts'
import { clearedNames, Doomed, type Item, type Reference, referencesTo, stillReferred } from './doomed.ts'
import type { ItemChange } from './event.ts'

/** A limit that bounds nothing. */
const ALL = Number.MAX_SAFE_INTEGER

export interface Ask<S> {
  readonly statement: S
  readonly slots: readonly SqlValue[]
}

/** Yields what may be asked together, and takes the rows of each. */
export type Walk<S, T> = Generator<readonly Ask<S>[], T, readonly (readonly ResultRow[])[]>

export interface Referrer<S> extends Reference {
  /** The ids of the rows that refer to an id, no more of them than the second slot says. */
  readonly rows: S
  readonly clear: S
}

interface RowStatements<S> {
  /** The event's text of an id. */
  readonly state: S
  readonly remove: S
}

/** An item, and a field by which others may refer to it. */
interface Referring<S> {
  readonly item: Item
  readonly referrer: Referrer<S>
}

/** A removal as far as all databases do it: the rows themselves are still there. */
export interface Walked<S> {
  readonly doomed: Doomed<Referrer<S>>
  /** The collections from which rows are taken, those that lost a reference, and all whose versions grow. */
  readonly removed: ReadonlySet<string>
  /** With how many references. */
  readonly cleared: ReadonlyMap<string, number>
  readonly changed: ReadonlySet<string>
}

export interface WalkOptions<S> {
  readonly model: Model
  readonly dialect: Dialect
  readonly prepare: (fragment: Sql) => S
  /** Locks the rows that refer. */
  readonly lock: (onDelete: ToOne['onDelete']) => Sql
}

type Log = (event: ItemChange) => void

export class RemovalWalk<S> {
  readonly #referrersOf: (target: Collection) => readonly Referrer<S>[]
  readonly statements: (collection: Collection) => RowStatements<S>
  readonly #removeOwner: S

  constructor(options: WalkOptions<S>) {
    this.#removeOwner = options.prepare(recordSql.removeOwner)
    this.#referrersOf = once(target =>
      referencesTo(target, options.model).map(reference => referrerOf(reference, options)),
    )
    this.statements = once(collection => statementsOf(collection, options))
  }

  /** Throws CONFLICT when a row that stays, and must not lose its reference, refers to one that goes. */
  *walk(first: Item, now: string, log: Log): Walk<S, Walked<S>> {
    const doomed = yield* this.#collect(first)
    yield* this.#requireUnreferred(doomed)
    const cleared = yield* this.#clear(doomed, now, log)
    yield* this.#log(doomed.items, log)
    const removed = new Set(doomed.collections.map(one => one.name))
    const forgotten = yield* this.#forget(doomed.items)
    return { doomed, removed, cleared, changed: new Set([...removed, ...cleared.keys(), ...forgotten]) }
  }

  /** The row and all that cascade from it, each once. */
  *#collect(first: Item): Walk<S, Doomed<Referrer<S>>> {
    const doomed = new Doomed<Referrer<S>>()
    doomed.add(first)
    for (let found = [first]; found.length > 0; ) {
      const referring = this.#referring(found, 'cascade')
      const ids = yield* idsOf(referring, () => ALL)
      found = []
      for (const [at, { referrer }] of referring.entries()) {
        for (const id of ids[at] ?? []) {
          const item = { collection: referrer.collection, id }
          if (doomed.add(item)) found.push(item)
          else doomed.again.push({ id, referrer })
        }
      }
    }
    return doomed
  }

  *#requireUnreferred(doomed: Doomed<Referrer<S>>): Walk<S, void> {
    const referring = this.#referring(doomed.items, 'restrict')
    // Among one more than those that go is one that stays, if there is any.
    const ids = yield* idsOf(referring, ({ collection }) => doomed.countOf(collection) + 1)
    for (const [at, { item, referrer }] of referring.entries()) {
      const { collection } = referrer
      if (!ids[at]?.every(id => doomed.has({ collection, id }))) throw stillReferred(item, referrer)
    }
  }

  /** Returns how many references each collection lost, by its name. */
  *#clear(doomed: Doomed<Referrer<S>>, now: string, log: Log): Walk<S, ReadonlyMap<string, number>> {
    const referring = this.#referring(doomed.items, 'clear')
    const ids = yield* idsOf(referring, () => ALL)
    const cleared = referring.flatMap(({ referrer }, at) => {
      const items = ids[at]?.map(id => ({ ...referrer, id })) ?? []
      return items.filter(item => !doomed.has(item))
    })
    // In this order: a row that loses two references has an event after each.
    const states = yield* asked(
      cleared.flatMap(item => [{ statement: item.clear, slots: [item.id, now] }, this.#state(item)]),
    )
    for (const [at, { collection, id, field }] of cleared.entries()) {
      const data = states[2 * at + 1]?.[0]?.[0] ?? null
      log({
        collection: collection.name,
        itemId: id,
        kind: 'updated',
        data,
        changed: clearedNames(field, collection),
      })
    }
    const counts = new Map<string, number>()
    for (const { collection } of cleared) counts.set(collection.name, (counts.get(collection.name) ?? 0) + 1)
    return counts
  }

  *#log(items: readonly Item[], log: Log): Walk<S, void> {
    const states = yield* asked(items.map(item => this.#state(item)))
    for (const [at, { collection, id }] of items.entries()) {
      const data = states[at]?.[0]?.[0] ?? null
      log({ collection: collection.name, itemId: id, kind: 'deleted', data, changed: undefined })
    }
  }

  /** With a user goes what is kept of it beside the items. Returns the names of the versions that grow. */
  *#forget(items: readonly Item[]): Walk<S, ReadonlySet<string>> {
    const users = items.filter(({ collection }) => collection.name === 'users')
    const asks = users.map(({ id }) => ({ statement: this.#removeOwner, slots: [String(id)] }))
    const gone = yield* asked(asks)
    return new Set(gone.flat().map(([kind]) => versionName(String(kind))))
  }

  #state({ collection, id }: Item): Ask<S> {
    return { statement: this.statements(collection).state, slots: [id] }
  }

  #referring(items: readonly Item[], onDelete: ToOne['onDelete']): readonly Referring<S>[] {
    return items.flatMap(item =>
      this.#referrersOf(item.collection)
        .filter(referrer => referrer.onDelete === onDelete)
        .map(referrer => ({ item, referrer })),
    )
  }
}

function* asked<S>(asks: readonly Ask<S>[]): Walk<S, readonly (readonly ResultRow[])[]> {
  return asks.length === 0 ? [] : yield asks
}

/** The ids of the rows that refer, of each no more than its limit. */
function* idsOf<S>(
  referring: readonly Referring<S>[],
  limit: (referrer: Referrer<S>) => number,
): Walk<S, readonly (readonly number[])[]> {
  const answers = yield* asked(
    referring.map(({ item, referrer }) => ({ statement: referrer.rows, slots: [item.id, limit(referrer)] })),
  )
  return answers.map(rows => rows.map(([id]) => Number(id)))
}

function statementsOf<S>(collection: Collection, { dialect, prepare }: WalkOptions<S>): RowStatements<S> {
  const row = new Row(dialect, collection.name)
  return {
    state: prepare(rowSql(row, slot(0), [eventSql(collection, row)])),
    remove: prepare(deleteSql(collection.name, slot(0))),
  }
}

function referrerOf<S>(reference: Reference, { dialect, prepare, lock }: WalkOptions<S>): Referrer<S> {
  const { collection, field, onDelete } = reference
  const touch = collection.fields.has('updated_at') ? sql`, "updated_at" = ${slot(1)}` : []
  const referring = referringSql(collection.name, field.name, slot(0), dialect.limit(slot(1)))
  return {
    ...reference,
    rows: prepare(sql`${referring}${lock(onDelete)}`),
    clear: prepare(
      sql`UPDATE ${name(collection.name)} SET ${name(field.name)} = NULL${touch} WHERE "id" = ${slot(0)}`,
    ),
  }
}
