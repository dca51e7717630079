/**
 * The facts about the rows that a transaction of several steps changes. A step finds the related rows as the earlier steps
 * left them, but listeners are judged by what could be read before the transaction and after it. So what later steps have
 * altered is read again at the end, and what earlier steps have altered is unknown, which withholds it.
 */
import type { Collection, Model } from '../../../model/model.ts'
import { type AskedFields, addAskedFields } from '../../plan/guard/asked-fields.ts'
import { agreedFacts, factsOf } from '../../plan/guard/facts.ts'
import { memoised } from '../memoised.ts'
import type { SqlValue } from '../values.ts'
import type { ItemChange } from './event.ts'
import { type RowStates, stateAt } from './row-states.ts'
import type { QuerySteps, WriteScope } from './steps.ts'

/** Positions among the changes of a transaction. */
interface Span {
  readonly first: number
  readonly last: number
}

/** The changes of one collection's items, in a transaction. */
interface Settling {
  readonly collection: Collection
  /** The positions of each item's changes. */
  readonly items: ReadonlyMap<number, readonly number[]>
  /** For each change of the transaction, the changes of the same step. */
  readonly steps: readonly Span[]
  /** The changes that may have altered the facts. */
  readonly altering: Span | undefined
}

export class CommittedFacts<S> {
  readonly #model: Model
  readonly #states: RowStates<S>
  readonly #askedOf: (collection: Collection) => AskedFields

  constructor(model: Model, states: RowStates<S>) {
    this.#model = model
    this.#states = states
    this.#askedOf = memoised(collection => {
      const asked: AskedFields = new Map()
      for (const { condition } of factsOf(model, collection)) addAskedFields(condition, undefined, asked)
      return asked
    })
  }

  /** The changes of a transaction, in their order, with the facts before its first step or after its last one. */
  *settle(changes: readonly ItemChange[], scope: WriteScope<S>): QuerySteps<S, readonly ItemChange[]> {
    const steps = stepsOf(changes)
    if (steps.at(-1)?.first === steps[0]?.first) return changes
    const settled = [...changes]
    for (const [name, positions] of Map.groupBy(changes.keys(), index => changes[index]?.collection)) {
      const collection = this.#model.collections.get(name ?? '')
      if (collection === undefined || !this.#states.hasFacts(collection)) continue
      const altering = alteringSpan(changes, this.#askedOf(collection), this.#model)
      const items = Map.groupBy(positions, index => changes[index]?.itemId ?? 0)
      const settling = { collection, items, steps, altering }
      const finalFacts = yield* this.#finalFacts(settling, scope)
      for (const [id, own] of items) settleItem(settled, own, settling, finalFacts.get(id) ?? null)
    }
    return settled
  }

  /** Of the items whose facts may be others after the last step, by their ids. */
  *#finalFacts(
    { collection, items, steps, altering }: Settling,
    scope: WriteScope<S>,
  ): QuerySteps<S, ReadonlyMap<number, SqlValue>> {
    const isAltered = ([first = 0, ...others]: readonly number[]) =>
      others.length > 0 || isLater(altering, steps[first])
    const ids = [...items].filter(([, own]) => isAltered(own)).map(([id]) => id)
    if (ids.length === 0) return new Map()
    const rows = yield ids.map(id => this.#states.query(collection, id, scope))
    return new Map(ids.map((id, index) => [id, stateAt(rows[index]?.[0], 0).facts]))
  }
}

/** Settles the changes of one item, at the positions `own`. `final`: the facts about it after the last step. */
function settleItem(
  settled: ItemChange[],
  own: readonly number[],
  { steps, altering }: Settling,
  final: SqlValue,
): void {
  const lastChange = own.findLast(index => !isEmitted(settled[index]))
  let previous: ItemChange | undefined
  for (const index of own) {
    const change = settled[index] as ItemChange
    const before = (facts: SqlValue) => {
      if (previous !== undefined) return previous.facts
      return isEarlier(altering, steps[index]) ? null : facts
    }
    const after = (facts: SqlValue) => {
      if (lastChange !== undefined && index < lastChange) return agreed(facts, final)
      return isLater(altering, steps[index]) ? final : facts
    }
    const settledChange = settle(change, before, after)
    settled[index] = settledChange
    if (!isEmitted(change)) previous = settledChange
  }
}

type SettleFacts = (facts: SqlValue) => SqlValue

function settle(change: ItemChange, before: SettleFacts, after: SettleFacts): ItemChange {
  const { kind, facts, factsBefore } = change
  if (kind === 'deleted') return { ...change, facts: before(facts) }
  const hasBefore = kind === 'updated' && !isEmitted(change)
  return { ...change, facts: after(facts), factsBefore: hasBefore ? before(factsBefore) : null }
}

/** A version between two steps is told only by what also holds at the end. */
function agreed(facts: SqlValue, final: SqlValue): SqlValue {
  return typeof facts === 'string' && typeof final === 'string' ? agreedFacts(facts, final) : null
}

/** It changes nothing, but has the item. */
function isEmitted(change: ItemChange | undefined): boolean {
  return change?.changed !== undefined && !Array.isArray(change.changed)
}

function isEarlier(altering: Span | undefined, step: Span | undefined): boolean {
  return altering !== undefined && step !== undefined && altering.first < step.first
}

function isLater(altering: Span | undefined, step: Span | undefined): boolean {
  return altering !== undefined && step !== undefined && altering.last > step.last
}

function stepsOf(changes: readonly ItemChange[]): readonly Span[] {
  const firsts: number[] = []
  for (const [index, { deletion }] of changes.entries()) {
    const isSame = deletion !== undefined && changes[index - 1]?.deletion === deletion
    firsts.push(isSame ? (firsts[index - 1] ?? index) : index)
  }
  const lastOf = new Map(firsts.map((first, index) => [first, index]))
  return firsts.map(first => ({ first, last: lastOf.get(first) ?? first }))
}

function alteringSpan(changes: readonly ItemChange[], asked: AskedFields, model: Model): Span | undefined {
  const isAltering = (change: ItemChange) => alters(change, asked, model)
  const first = changes.findIndex(isAltering)
  return first < 0 ? undefined : { first, last: changes.findLastIndex(isAltering) }
}

/** Whether a change may alter facts that ask about these fields. */
function alters(change: ItemChange, asked: AskedFields, model: Model): boolean {
  const fields = asked.get(change.collection)
  if (fields === undefined || isEmitted(change)) return false
  const changed: unknown = change.changed
  if (!Array.isArray(changed)) return true
  const declared = model.collections.get(change.collection)?.fields
  // The names of changed fields lack those that no client may read.
  const isUnnamed = (name: string) => declared?.get(name)?.internal || declared?.get(name)?.writeOnly
  return [...fields].some(name => isUnnamed(name) || changed.includes(name))
}
