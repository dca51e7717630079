/**
 * The facts about rows that lose references in a deletion: before any row was changed, and after all were. In between, the
 * rows are as no caller could read them, so a row that loses two references is withheld between its two events.
 */
import type { ResultRows, SqlValue } from '../../values.ts'
import type { ItemChange } from '../event.ts'
import { type RowStates, stateAt } from '../row-states.ts'
import type { QuerySteps, WriteScope } from '../steps.ts'
import type { CascadeItem } from './cascade-set.ts'

export class ClearedFacts<S> {
  readonly #states: RowStates<S>
  readonly #items: ReadonlyMap<string, CascadeItem>
  #before: ReadonlyMap<string, SqlValue> = new Map()

  constructor(states: RowStates<S>, cleared: readonly CascadeItem[]) {
    this.#states = states
    const withFacts = cleared.filter(({ collection }) => states.hasFacts(collection))
    this.#items = new Map(withFacts.map(item => [keyOf(item.collection.name, item.id), item]))
  }

  *readBefore(scope: WriteScope<S>): QuerySteps<S, void> {
    this.#before = yield* this.#read(scope)
  }

  /** The changes of the rows, in their order, with their facts. */
  *complete(changes: readonly ItemChange[], scope: WriteScope<S>): QuerySteps<S, readonly ItemChange[]> {
    if (this.#items.size === 0) return changes
    const after = yield* this.#read(scope)
    const keys = changes.map(({ collection, itemId }) => keyOf(collection, itemId))
    const lastAt = new Map(keys.map((key, index) => [key, index]))
    const seen = new Set<string>()
    return keys.map((key, index) => {
      const facts = lastAt.get(key) === index ? (after.get(key) ?? null) : null
      const factsBefore = seen.has(key) ? null : (this.#before.get(key) ?? null)
      seen.add(key)
      return { ...(changes[index] as ItemChange), facts, factsBefore }
    })
  }

  *#read(scope: WriteScope<S>): QuerySteps<S, ReadonlyMap<string, SqlValue>> {
    if (this.#items.size === 0) return new Map()
    const queries = [...this.#items.values()].map(({ collection, id }) =>
      this.#states.query(collection, id, scope),
    )
    const rows: readonly ResultRows[] = yield queries
    return new Map([...this.#items.keys()].map((key, index) => [key, stateAt(rows[index]?.[0], 0).facts]))
  }
}

function keyOf(collection: string, id: number): string {
  return `${collection} ${id}`
}
