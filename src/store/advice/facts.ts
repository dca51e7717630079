/** What a list's plan does not say, estimated from the model, the list's conditions and the totals of its tables. */
import type { Collection, Field, Model } from '../../model/model.ts'
import { isColumn } from '../../plan/condition.ts'
import type { Condition, GuardedList } from '../../plan/guarded.ts'
import type { PlanFacts } from '../plans/estimate.ts'
import type { PlanAccess } from '../plans/steps.ts'

export interface Totals {
  /** How many items a collection has. */
  of(collection: string): number
}

/** What the estimate of one list stands on. */
export interface ListGround {
  readonly model: Model
  readonly totals: Totals
  readonly list: GuardedList
  /** The table behind each alias of the statement. */
  readonly tables: ReadonlyMap<string, string>
  /** Limit and offset together. */
  readonly take: number
}

/** Where the words of a search stand, and where rules read rows that the caller may not see. */
const ownTable = /^_(?:search|all)_(.+?)_?$/

/** An equality on a field of which nothing is known finds this part of the rows. */
const unknownShare = 0.01
const rangeShare = 0.3
/** A rule over related rows is made for callers who see something. */
const ruleShare = 0.1

export function factsOf({ model, totals, list, tables, take }: ListGround): PlanFacts {
  const collectionOf = (alias: string): Collection | undefined => {
    const table = tables.get(alias) ?? alias
    return model.collections.get(table) ?? model.collections.get(ownTable.exec(table)?.[1] ?? '')
  }
  const shares = new Shares(totals)
  const keyShare = (collection: Collection, columns: readonly string[]): number =>
    columns.reduce((share, column) => share * shares.ofColumn(collection, column), 1)
  const perKey = (table: string, columns: readonly string[]): number | undefined => {
    const collection = collectionOf(table)
    return collection && Math.max(1, totals.of(collection.name) * keyShare(collection, columns))
  }
  const behind = (access: PlanAccess) => conjuncts(list.rows).filter(each => !isCovered(each, access))
  const sorted = list.sort.map(({ field }) => field.field.name)
  const fixed = equalFields(list)
  return {
    rowsOf: alias => {
      const collection = collectionOf(alias)
      return collection && totals.of(collection.name)
    },
    isKey: (table, columns) => {
      const collection = collectionOf(table)
      return collection !== undefined && isUnique(collection, columns)
    },
    perKey,
    perGroup: terms => perKey('t0', [...fixed, ...sorted.slice(0, sorted.length - terms)]),
    filtered: access => access.table !== 't0' || behind(access).length > 0 || !reaches(list, access),
    share: access => behind(access).reduce((share, each) => share * shares.of(each, list.collection), 1),
    take,
    counts: list.counts,
  }
}

export function conjuncts(condition: Condition): readonly Condition[] {
  if (condition.kind === 'always') return []
  return condition.kind === 'and' ? condition.conditions : [condition]
}

/** Whether an access that finds a condition's rows leaves nothing of it to be checked. */
function isCovered(condition: Condition, { equal, ranged }: PlanAccess): boolean {
  if (condition.kind === 'isNull') return equal.includes(condition.field.field.name)
  if (condition.kind !== 'compare' || !isColumn(condition.field)) return false
  const { name } = condition.field.field
  return equal.includes(name) || (condition.operator !== 'eq' && ranged.includes(name))
}

/** Whether the parent's link, where there is one, is what the access looks up. */
function reaches({ within }: GuardedList, { equal }: PlanAccess): boolean {
  const relation = within?.path.relation
  return relation?.kind === 'many' ? equal.includes(relation.field) : true
}

/** Fields that have one value in all rows of the list: the parent's link first. */
export function equalFields(list: Pick<GuardedList, 'rows' | 'within'>): readonly string[] {
  const relation = list.within?.path.relation
  const linked = relation?.kind === 'many' ? [relation.field] : []
  const equal = conjuncts(list.rows).flatMap(each => {
    if (each.kind === 'isNull' && isColumn(each.field)) return [each.field.field.name]
    if (each.kind !== 'compare' || each.operator !== 'eq') return []
    return isColumn(each.field) ? [each.field.field.name] : []
  })
  return [...new Set([...linked, ...equal])]
}

function isUnique(collection: Collection, columns: readonly string[]): boolean {
  if (columns.some(column => column === 'id' || collection.fields.get(column)?.unique)) return true
  return collection.indexes.some(
    ({ unique, keys }) => unique && keys.every(({ field }) => columns.includes(field)),
  )
}

/** Which part of a collection's rows fulfils a condition, from 0 to 1. */
class Shares {
  readonly #totals: Totals

  constructor(totals: Totals) {
    this.#totals = totals
  }

  of(condition: Condition, collection: Collection): number {
    switch (condition.kind) {
      case 'always':
        return 1
      case 'compare':
        return this.#ofComparison(condition, collection)
      case 'and':
        return condition.conditions.reduce((share, each) => share * this.of(each, collection), 1)
      case 'or':
        return Math.min(
          1,
          condition.conditions.reduce((share, each) => share + this.of(each, collection), 0),
        )
      case 'not':
        return Math.max(unknownShare, 1 - this.of(condition.condition, collection))
      case 'isNull':
      case 'nullness':
        return rangeShare
      case 'fields':
        return ruleShare
      case 'related':
        return condition.stored ? ruleShare : this.#rare(collection)
      default:
        return this.#rare(collection)
    }
  }

  #ofComparison({ field, operator }: Condition & { kind: 'compare' }, collection: Collection): number {
    if (operator === 'contains' || operator === 'icontains') return this.#rare(collection)
    const equal = this.ofColumn(collection, field.field.name)
    // What is asked for by a value of its own may be nowhere.
    if (equal === unknownShare && (operator === 'eq' || operator === 'in')) return this.#rare(collection)
    if (operator === 'eq' || operator === 'in') return equal
    return operator === 'ne' ? Math.max(unknownShare, 1 - equal) : rangeShare
  }

  /** One value of a field. */
  ofColumn(collection: Collection, column: string): number {
    const field = collection.fields.get(column)
    return field === undefined || field.name === 'id' || field.unique
      ? this.#rare(collection)
      : this.#ofField(field, collection)
  }

  #ofField({ reference, type }: Field, collection: Collection): number {
    if (reference) return 1 / Math.max(1, this.#totals.of(reference.target))
    const { distinctValues } = type
    if (distinctValues === undefined) return unknownShare
    return Number.isFinite(distinctValues) ? 1 / distinctValues : this.#rare(collection)
  }

  /** One row, or none. */
  #rare({ name }: Collection): number {
    return 1 / Math.max(1, this.#totals.of(name))
  }
}
