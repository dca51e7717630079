/**
 * The changes that a deletion makes besides its own row: rows deleted by cascade and references cleared, each with its
 * event. The rows that refer to many items are read in one step.
 */
import type { ApiError } from '../../../../base/errors.ts'
import type { Principal } from '../../../../base/principal.ts'
import { recordsOfItems } from '../../../../base/records.ts'
import type { Collection, ToOne } from '../../../../model/model.ts'
import { type ReferringField, referencesTo } from '../../../../model/references.ts'
import { CascadeTooLarge } from '../../../plan/cascade-too-large.ts'
import { memoised } from '../../memoised.ts'
import { recordSql, versionName } from '../../records.ts'
import { RowAlias } from '../../sql/row-alias.ts'
import { deleteSql, eventSql, referringSql, returningRow, rowSql } from '../../sql/write.ts'
import { name, slot, sql } from '../../sql/writer.ts'
import { type ResultRows, slotInputs } from '../../values.ts'
import type { RemovalOf, WriteDatabase } from '../database.ts'
import type { Author, ItemChange } from '../event.ts'
import { removedFiles } from '../files.ts'
import { type RowState, type RowStates, stateAt } from '../row-states.ts'
import type { QuerySteps, StepQueries, StepQuery, WriteScope } from '../steps.ts'
import type { WriteResult } from '../written.ts'
import {
  type CascadeItem,
  CascadeSet,
  clearedNames,
  type Referrer,
  type RemovalEffects,
  stillReferencedError,
  unknownReferenceError,
} from './cascade-set.ts'
import type { Cascades } from './cascades.ts'
import { ClearedFacts } from './cleared-facts.ts'
import { ClearingRefused, checkedClearing, clearedChange } from './clearing.ts'

export class Removal<S> {
  readonly #database: WriteDatabase<S>
  readonly #cascades: Cascades
  readonly #walk: RemovalWalk<S>
  readonly #removedFiles: ReturnType<typeof removedFiles<S>>

  constructor(database: WriteDatabase<S>, cascades: Cascades, states: RowStates<S>) {
    this.#database = database
    this.#removedFiles = removedFiles(database)
    this.#cascades = cascades
    this.#walk = new RemovalWalk(database, states)
  }

  /**
   * Deletes a locked row with everything that depends on it. Throws CONFLICT if a remaining row refers to a deleted one and
   * must not lose its reference. `state`: of the row, for the event.
   */
  *remove(
    item: CascadeItem,
    state: RowState,
    by: Principal,
    scope: WriteScope<S>,
    maxItems: number | undefined,
    isKnown: KnownReference<S>,
  ): QuerySteps<S, RemovalEffects<S> & Pick<WriteResult, 'cascaded'>> {
    const startedAt = performance.now()
    const { effects, changes } = yield* this.#walk.walk(
      item,
      state,
      by,
      scope,
      Math.min(maxItems ?? this.#cascades.maxItems, this.#cascades.maxItems),
      isKnown,
    )
    yield* this.#database.remove(effects, this.#walk.removalOf, scope)
    yield* rowsOf(this.#removedFiles(effects.cascadeSet.items, scope))
    const { cascadeSet } = effects
    for (const collection of cascadeSet.collections)
      scope.count(collection.name, -cascadeSet.countOf(collection))
    for (const verify of changes.verifications) yield* verify()
    for (const change of yield* changes.facts.complete(changes.cleared, scope))
      scope.log({ ...change, deletion: effects })
    for (const change of changes.deleted) scope.log({ ...change, deletion: effects })
    return { ...effects, cascaded: this.#cascades.record(item, effects, startedAt) }
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

/** The changes of a deletion, to be logged once its rows are deleted. */
interface RemovalChanges<S> {
  readonly cleared: readonly ItemChange[]
  /** Whether items may have lost their references, seen without the rows that are deleted. */
  readonly verifications: readonly (() => QuerySteps<S, void>)[]
  readonly facts: ClearedFacts<S>
  readonly deleted: readonly ItemChange[]
}

type ClearedItem<S> = Referrer<S> & CascadeItem

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
  /** The statement that deletes the row with an id. */
  readonly removalOf: RemovalOf<S>
  readonly #states: RowStates<S>
  readonly #removeOwner: S
  readonly #removeRecord: S

  constructor(database: WriteDatabase<S>, states: RowStates<S>) {
    this.#states = states
    this.#removeOwner = database.prepare(recordSql.removeOwner)
    this.#removeRecord = database.prepare(recordSql.remove)
    this.#referrersOf = memoised(target =>
      referencesTo(target, database.model).map(reference => referrerOf(reference, database)),
    )
    this.removalOf = memoised(
      collection => database.prepare(deleteSql(collection.name, slot(0))) as S & object,
    )
  }

  /** Throws CONFLICT if a remaining row refers to a deleted one and must not lose its reference. */
  *walk(
    first: CascadeItem,
    state: RowState,
    by: Principal,
    scope: WriteScope<S>,
    maxItems: number,
    isKnown: KnownReference<S>,
  ): QuerySteps<S, { readonly effects: RemovalEffects<S>; readonly changes: RemovalChanges<S> }> {
    const cascadeSet = yield* this.#collect(first, maxItems)
    yield* this.#requireUnreferenced(cascadeSet, isKnown)
    const clearedItems = yield* this.#findCleared(cascadeSet, maxItems)
    // Before any reference is cleared: rules may follow it.
    const facts = new ClearedFacts(this.#states, clearedItems)
    yield* facts.readBefore(scope)
    const deleted = yield* this.#deletions(cascadeSet.items, state, by, scope)
    const changes = { ...(yield* this.#clear(clearedItems, by, scope, isKnown)), facts, deleted }
    const removed = new Set(cascadeSet.collections.map(({ name }) => name))
    const cleared = countsOf(clearedItems)
    const versions = yield* this.#deleteRecords(cascadeSet.items)
    const changed = new Set([...removed, ...cleared.keys(), ...versions])
    return { effects: { cascadeSet, removed, cleared, changed }, changes }
  }

  /** The row and all rows that are deleted with it by cascade, each once. */
  *#collect(first: CascadeItem, maxItems: number): QuerySteps<S, CascadeSet<Referrer<S>>> {
    const cascadeSet = new CascadeSet<Referrer<S>>()
    cascadeSet.add(first)
    // `items` grows: what a slice finds comes after it.
    for (let end = 0; end < cascadeSet.items.length; ) {
      const slice = cascadeSet.items.slice(end, end + sliceItems)
      end += slice.length
      const referring = this.#referring(slice, 'cascade')
      const ids = yield* idsOf(referring, () => maxItems + 1)
      for (const [index, { referrer }] of referring.entries()) {
        for (const id of ids[index] ?? []) {
          if (!cascadeSet.add({ collection: referrer.collection, id }))
            cascadeSet.repeated.push({ id, referrer })
        }
      }
      if (cascadeSet.items.length - 1 > maxItems) throw new CascadeTooLarge(cascadeSet.items, maxItems)
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

  /** The remaining rows whose references are cleared: one item for each reference. */
  *#findCleared(
    cascadeSet: CascadeSet<Referrer<S>>,
    maxItems: number,
  ): QuerySteps<S, readonly ClearedItem<S>[]> {
    const referring = this.#referring(cascadeSet.items, 'clear')
    const remaining = maxItems - (cascadeSet.items.length - 1)
    const cleared: ClearedItem<S>[] = []
    for (let start = 0; start < referring.length; start += sliceItems) {
      const slice = referring.slice(start, start + sliceItems)
      const ids = yield* idsOf(slice, ({ collection }) => remaining + 1 + cascadeSet.countOf(collection))
      for (const [index, { referrer }] of slice.entries())
        for (const id of ids[index] ?? [])
          if (!cascadeSet.has({ collection: referrer.collection, id })) cleared.push({ ...referrer, id })
      if (cleared.length > remaining) throw new CascadeTooLarge(cascadeSet.items, maxItems)
    }
    return cleared
  }

  /** Returns the changes, without their facts, and what is checked once the rows are deleted. */
  *#clear(
    cleared: readonly ClearedItem<S>[],
    by: Principal,
    scope: WriteScope<S>,
    isKnown: KnownReference<S>,
  ): QuerySteps<S, Pick<RemovalChanges<S>, 'cleared' | 'verifications'>> {
    const isChecked = ({ checkedClear }: Referrer<S>) => checkedClear !== undefined
    const unchecked = cleared.filter(item => !isChecked(item))
    const changes = [...(yield* this.#clearUnchecked(unchecked, by, scope))]
    const verifications: (() => QuerySteps<S, void>)[] = []
    for (const item of cleared) {
      if (item.checkedClear === undefined) continue
      try {
        const { change, verify } = yield* item.checkedClear(item.id, by, scope)
        if (change !== undefined) changes.push(change)
        if (verify === undefined) continue
        // Before the rows are deleted: the caller must come to know no more by that.
        const isItemKnown = yield* knows(item, isKnown)
        verifications.push(() => hiddenUnless(isItemKnown, verify()))
      } catch (cause) {
        throw cause instanceof ClearingRefused && !(yield* knows(item, isKnown))
          ? unknownReferenceError(cause)
          : cause
      }
    }
    return { cleared: changes, verifications }
  }

  /** One after the other: a row that loses two references has an event after each. */
  *#clearUnchecked(
    cleared: readonly ClearedItem<S>[],
    by: Author,
    scope: WriteScope<S>,
  ): QuerySteps<S, readonly ItemChange[]> {
    const rows = yield* rowsOf(
      cleared.flatMap(item => [
        { statement: item.text, inputs: slotInputs([item.id]) },
        { statement: item.clear, inputs: slotInputs([item.id, scope.at]) },
      ]),
    )
    return cleared.flatMap(({ collection, id, field }, index) => {
      if (collection.unlogged) return []
      const [before = null, data = null] = [rows[2 * index], rows[2 * index + 1]].map(
        found => found?.[0]?.[0],
      )
      const changed = clearedNames(field, collection)
      return [clearedChange({ collection, id }, changed, { before, data }, by)]
    })
  }

  /** The changes of the deleted rows. `first`: the state of the first one. */
  *#deletions(
    items: readonly CascadeItem[],
    first: RowState,
    by: Author,
    scope: WriteScope<S>,
  ): QuerySteps<S, readonly ItemChange[]> {
    const states = yield* rowsOf(
      items.slice(1).map(({ collection, id }) => this.#states.query(collection, id, scope)),
    )
    return items.flatMap(({ collection, id }, index) => {
      if (collection.unlogged) return []
      const state = index === 0 ? first : stateAt(states[index - 1]?.[0], 0)
      const event = { collection: collection.name, itemId: id, kind: 'deleted', ...state } as const
      return [{ ...event, before: null, factsBefore: null, changed: undefined, by }]
    })
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

  #referring(items: readonly CascadeItem[], onDelete: ToOne['onDelete']): readonly ItemReferrer<S>[] {
    return items.flatMap(item =>
      this.#referrersOf(item.collection)
        .filter(referrer => referrer.onDelete === onDelete)
        .map(referrer => ({ item, referrer })),
    )
  }
}

function* knows<S>(item: ClearedItem<S>, isKnown: KnownReference<S>): QuerySteps<S, boolean> {
  const query = isKnown(item, item.id)
  const [rows] = query === undefined ? [] : yield [query]
  return rows?.[0]?.[0] === 1
}

function* hiddenUnless<S>(isItemKnown: boolean, steps: QuerySteps<S, void>): QuerySteps<S, void> {
  try {
    yield* steps
  } catch (cause) {
    throw cause instanceof ClearingRefused && !isItemKnown ? unknownReferenceError(cause) : cause
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

/** The number of items by the name of their collection. */
function countsOf(items: readonly CascadeItem[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { collection } of items) counts.set(collection.name, (counts.get(collection.name) ?? 0) + 1)
  return counts
}

function referrerOf<S>(reference: ReferringField, database: WriteDatabase<S>): Referrer<S> {
  const { collection, field, onDelete } = reference
  const { dialect, prepare, locks } = database
  const touch = collection.fields.has('updated_at') ? sql`, "updated_at" = ${slot(1)}` : []
  const lock = (onDelete === 'cascade' ? locks?.remove : locks?.change) ?? []
  const row = new RowAlias(dialect, collection.name)
  const referring = referringSql(collection.name, field.name, slot(0), dialect.limit(slot(1)))
  return {
    ...reference,
    rows: prepare(sql`${referring}${lock}`),
    text: prepare(rowSql(row, slot(0), [eventSql(collection, row)])),
    checkedClear: onDelete === 'clear' ? checkedClearing(reference, database) : undefined,
    clear: prepare(
      sql`UPDATE ${name(collection.name)} SET ${name(field.name)} = NULL${touch} WHERE "id" = ${slot(0)} RETURNING ${eventSql(collection, returningRow(collection, dialect))}`,
    ),
  }
}
