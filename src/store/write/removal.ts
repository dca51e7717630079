/**
 * The changes that a deletion makes besides its own row: rows deleted by cascade and references cleared, each with its
 * event. The rows that refer to many items are read in one step.
 */
import type { ApiError } from '../../errors.ts'
import type { Collection, ToOne } from '../../model/model.ts'
import type { Principal } from '../../principal.ts'
import { recordsOfItems } from '../../records.ts'
import { memoised } from '../memoised.ts'
import { recordSql, versionName } from '../records.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { deleteSql, eventSql, referringSql, returningRow, rowSql } from '../sql/write.ts'
import { name, slot, sql } from '../sql/writer.ts'
import { type ResultRows, type SqlValue, slotInputs } from '../values.ts'
import type { WriteDatabase } from './database.ts'
import type { Author } from './event.ts'
import {
  type CascadeItem,
  CascadeSet,
  clearedNames,
  type Referrer,
  type ReferringField,
  type RemovalEffects,
  referencesTo,
  stillReferencedError,
  unknownReferenceError,
} from './removal/cascade-set.ts'
import { type Cascades, CascadeTooLarge } from './removal/cascades.ts'
import { checkedClearing } from './removal/clearing.ts'
import type { QuerySteps, StepQueries, StepQuery, WriteScope } from './steps.ts'

export class Removal<S> {
  readonly #database: WriteDatabase<S>
  readonly #cascades: Cascades
  readonly #walk: RemovalWalk<S>

  constructor(database: WriteDatabase<S>, cascades: Cascades) {
    this.#database = database
    this.#cascades = cascades
    this.#walk = new RemovalWalk(database, cascades.maxItems)
  }

  /**
   * Deletes a locked row with everything that depends on it. Throws CONFLICT if a remaining row refers to a deleted one and
   * must not lose its reference. `data`: the row's text for the event.
   */
  *remove(
    item: CascadeItem,
    data: SqlValue,
    by: Principal,
    scope: WriteScope<S>,
    isKnown: KnownReference<S>,
  ): QuerySteps<S, RemovalEffects<S>> {
    const startedAt = performance.now()
    const effects = yield* this.#walk.walk(item, data, by, scope, isKnown)
    yield* this.#database.remove(effects, collection => this.#walk.statements(collection).remove, scope)
    const { cascadeSet } = effects
    for (const collection of cascadeSet.collections)
      scope.count(collection.name, -cascadeSet.countOf(collection))
    this.#cascades.record(item, effects, startedAt)
    return effects
  }
}

/**
 * A query with a row of one column, 1 if the caller may know which item the field of the row with this id refers to. Undefined
 * if the caller may not.
 */
export type KnownReference<S> = (reference: ReferringField, id: number) => StepQuery<S> | undefined

/** How many references are examined for one that a refusal may name. */
const maxExamined = 20

/** How many items' referring rows are read in one step: a cascade that is too large is refused before all of it is read. */
const sliceItems = 100

interface RowStatements<S> {
  /** Returns the text for the event of the row with this id. */
  readonly state: S
  readonly remove: S
}

/** An item, and a field by which others may refer to it. */
interface ItemReferrer<S> {
  readonly item: CascadeItem
  readonly referrer: Referrer<S>
}

/** A remaining row that refers to a deleted item. */
interface Blocking<S> extends ItemReferrer<S> {
  readonly id: number
}

/** Names a reference that the caller may know of, if one is among them. */
function* refusalOf<S>(
  blocking: readonly Blocking<S>[],
  isKnown: KnownReference<S>,
): QuerySteps<S, ApiError> {
  const examined = blocking.slice(0, maxExamined).flatMap(reference => {
    const query = isKnown(reference.referrer, reference.id)
    return query === undefined ? [] : [{ ...reference, query }]
  })
  const answers = yield* rowsOf(examined.map(({ query }) => query))
  const known = examined.find((_, index) => answers[index]?.[0]?.[0] === 1)
  return known === undefined ? unknownReferenceError() : stillReferencedError(known.item, known.referrer)
}

class RemovalWalk<S> {
  readonly #referrersOf: (target: Collection) => readonly Referrer<S>[]
  readonly statements: (collection: Collection) => RowStatements<S>
  readonly #removeOwner: S
  readonly #removeRecord: S

  readonly #maxItems: number

  constructor(database: WriteDatabase<S>, maxItems: number) {
    this.#maxItems = maxItems
    this.#removeOwner = database.prepare(recordSql.removeOwner)
    this.#removeRecord = database.prepare(recordSql.remove)
    this.#referrersOf = memoised(target =>
      referencesTo(target, database.model).map(reference => referrerOf(reference, database)),
    )
    this.statements = memoised(collection => statementsOf(collection, database))
  }

  /** Throws CONFLICT if a remaining row refers to a deleted one and must not lose its reference. */
  *walk(
    first: CascadeItem,
    data: SqlValue,
    by: Principal,
    scope: WriteScope<S>,
    isKnown: KnownReference<S>,
  ): QuerySteps<S, RemovalEffects<S>> {
    const cascadeSet = yield* this.#collect(first)
    yield* this.#requireUnreferenced(cascadeSet, isKnown)
    const cleared = yield* this.#clear(first, cascadeSet, by, scope)
    yield* this.#log(cascadeSet.items, data, by, scope)
    const removed = new Set(cascadeSet.collections.map(({ name }) => name))
    const versions = yield* this.#deleteRecords(cascadeSet.items)
    return { cascadeSet, removed, cleared, changed: new Set([...removed, ...cleared.keys(), ...versions]) }
  }

  /** The row and all rows that are deleted with it by cascade, each once. */
  *#collect(first: CascadeItem): QuerySteps<S, CascadeSet<Referrer<S>>> {
    const cascadeSet = new CascadeSet<Referrer<S>>()
    cascadeSet.add(first)
    // `items` grows: what a slice finds comes after it.
    for (let end = 0; end < cascadeSet.items.length; ) {
      const slice = cascadeSet.items.slice(end, end + sliceItems)
      end += slice.length
      const referring = this.#referring(slice, 'cascade')
      const ids = yield* idsOf(referring, () => this.#maxItems + 1)
      for (const [index, { referrer }] of referring.entries()) {
        for (const id of ids[index] ?? []) {
          if (!cascadeSet.add({ collection: referrer.collection, id }))
            cascadeSet.repeated.push({ id, referrer })
        }
      }
      if (cascadeSet.items.length - 1 > this.#maxItems) throw new CascadeTooLarge(first, this.#maxItems)
    }
    return cascadeSet
  }

  *#requireUnreferenced(
    cascadeSet: CascadeSet<Referrer<S>>,
    isKnown: KnownReference<S>,
  ): QuerySteps<S, void> {
    const referring = this.#referring(cascadeSet.items, 'restrict')
    // One more than the rows that are deleted: if a row remains, it is among them.
    const ids = yield* idsOf(referring, ({ collection }) => cascadeSet.countOf(collection) + 1)
    const blocking = referring.flatMap((reference, index): readonly Blocking<S>[] => {
      const { collection } = reference.referrer
      const id = ids[index]?.find(candidate => !cascadeSet.has({ collection, id: candidate }))
      return id === undefined ? [] : [{ ...reference, id }]
    })
    if (blocking.length > 0) throw yield* refusalOf(blocking, isKnown)
  }

  /** Returns the number of cleared references by the name of the collection. */
  *#clear(
    first: CascadeItem,
    cascadeSet: CascadeSet<Referrer<S>>,
    by: Principal,
    scope: WriteScope<S>,
  ): QuerySteps<S, ReadonlyMap<string, number>> {
    const referring = this.#referring(cascadeSet.items, 'clear')
    const remaining = this.#maxItems - (cascadeSet.items.length - 1)
    const cleared: (Referrer<S> & CascadeItem)[] = []
    for (let start = 0; start < referring.length; start += sliceItems) {
      const slice = referring.slice(start, start + sliceItems)
      const ids = yield* idsOf(slice, ({ collection }) => remaining + 1 + cascadeSet.countOf(collection))
      for (const [index, { referrer }] of slice.entries())
        for (const id of ids[index] ?? [])
          if (!cascadeSet.has({ collection: referrer.collection, id })) cleared.push({ ...referrer, id })
      if (cleared.length > remaining) throw new CascadeTooLarge(first, this.#maxItems)
    }
    const isChecked = ({ checkedClear }: Referrer<S>) => checkedClear !== undefined
    yield* this.#clearUnchecked(
      cleared.filter(item => !isChecked(item)),
      by,
      scope,
    )
    for (const item of cleared)
      if (item.checkedClear !== undefined) yield* item.checkedClear(item.id, by, scope)
    const counts = new Map<string, number>()
    for (const { collection } of cleared) counts.set(collection.name, (counts.get(collection.name) ?? 0) + 1)
    return counts
  }

  /** One after the other: a row that loses two references has an event after each. */
  *#clearUnchecked(
    cleared: readonly (Referrer<S> & CascadeItem)[],
    by: Author,
    scope: WriteScope<S>,
  ): QuerySteps<S, void> {
    const states = yield* rowsOf(
      cleared.flatMap(item => [
        this.#state(item),
        { statement: item.clear, inputs: slotInputs([item.id, scope.at]) },
      ]),
    )
    for (const [index, { collection, id, field }] of cleared.entries()) {
      if (collection.unlogged) continue
      const [before, data] = [states[2 * index], states[2 * index + 1]].map(rows => rows?.[0]?.[0] ?? null)
      const changedFields = clearedNames(field, collection)
      const event = {
        collection: collection.name,
        itemId: id,
        kind: 'updated',
        changed: changedFields,
        by,
      } as const
      scope.log({ ...event, data: data ?? null, before: before ?? null })
    }
  }

  /** `first`: the first item's text for its event. */
  *#log(
    items: readonly CascadeItem[],
    first: SqlValue,
    by: Author,
    scope: WriteScope<S>,
  ): QuerySteps<S, void> {
    const states = yield* rowsOf(items.slice(1).map(item => this.#state(item)))
    for (const [index, { collection, id }] of items.entries()) {
      if (collection.unlogged) continue
      const data = index === 0 ? first : (states[index - 1]?.[0]?.[0] ?? null)
      const event = { collection: collection.name, itemId: id, kind: 'deleted', data } as const
      scope.log({ ...event, before: null, changed: undefined, by })
    }
  }

  /** Deletes the records that belong to the items. Returns the names of the versions that increase. */
  *#deleteRecords(items: readonly CascadeItem[]): QuerySteps<S, ReadonlySet<string>> {
    const users = items.filter(({ collection }) => collection.name === 'users')
    const ownerQueries = users.map(({ id }) => ({
      statement: this.#removeOwner,
      inputs: slotInputs([String(id)]),
    }))
    const itemRecords = items.flatMap(({ collection, id }) => {
      const kind = recordsOfItems.get(collection.name)
      return kind === undefined ? [] : [{ kind, id: String(id) }]
    })
    const recordQueries = itemRecords.map(({ kind, id }) => ({
      statement: this.#removeRecord,
      inputs: slotInputs([kind, id]),
    }))
    const deleted = yield* rowsOf([...ownerQueries, ...recordQueries])
    const kinds = deleted.slice(0, users.length).flatMap(rows => rows.map(([kind]) => String(kind)))
    return new Set([...kinds, ...itemRecords.map(({ kind }) => kind)].map(versionName))
  }

  #state({ collection, id }: CascadeItem): StepQuery<S> {
    return { statement: this.statements(collection).state, inputs: slotInputs([id]) }
  }

  #referring(items: readonly CascadeItem[], onDelete: ToOne['onDelete']): readonly ItemReferrer<S>[] {
    return items.flatMap(item =>
      this.#referrersOf(item.collection)
        .filter(referrer => referrer.onDelete === onDelete)
        .map(referrer => ({ item, referrer })),
    )
  }
}

function* rowsOf<S>(queries: StepQueries<S>): QuerySteps<S, readonly ResultRows[]> {
  return queries.length === 0 ? [] : yield queries
}

/** The ids of the rows that refer to each item, up to the limit. */
function* idsOf<S>(
  referring: readonly ItemReferrer<S>[],
  limit: (referrer: Referrer<S>) => number,
): QuerySteps<S, readonly (readonly number[])[]> {
  const answers = yield* rowsOf(
    referring.map(({ item, referrer }) => ({
      statement: referrer.rows,
      inputs: slotInputs([item.id, limit(referrer)]),
    })),
  )
  return answers.map(rows => rows.map(([id]) => Number(id)))
}

function statementsOf<S>(collection: Collection, { dialect, prepare }: WriteDatabase<S>): RowStatements<S> {
  const row = new RowAlias(dialect, collection.name)
  return {
    state: prepare(rowSql(row, slot(0), [eventSql(collection, row)])),
    remove: prepare(deleteSql(collection.name, slot(0))),
  }
}

function referrerOf<S>(reference: ReferringField, database: WriteDatabase<S>): Referrer<S> {
  const { collection, field, onDelete } = reference
  const { dialect, prepare, locks } = database
  const touch = collection.fields.has('updated_at') ? sql`, "updated_at" = ${slot(1)}` : []
  const lock = (onDelete === 'cascade' ? locks?.remove : locks?.change) ?? []
  const referring = referringSql(collection.name, field.name, slot(0), dialect.limit(slot(1)))
  return {
    ...reference,
    rows: prepare(sql`${referring}${lock}`),
    checkedClear: onDelete === 'clear' ? checkedClearing(reference, database) : undefined,
    clear: prepare(
      sql`UPDATE ${name(collection.name)} SET ${name(field.name)} = NULL${touch} WHERE "id" = ${slot(0)} RETURNING ${eventSql(collection, returningRow(collection, dialect))}`,
    ),
  }
}
