/**
 * Facts about a list that its query plan lacks, estimated from the model, the list's conditions and the totals of its tables.
 * Selectivity is PostgreSQL's term: the fraction of the rows that fulfil a condition.
 */
import type { Collection, Field, Model } from '../../../model/model.ts'
import { isColumn } from '../../plan/condition.ts'
import type { GuardedList } from '../../plan/guarded.ts'
import type { Condition } from '../../plan/guarded-conditions.ts'
import type { PlanFacts } from '../plans/estimate.ts'
import type { PlanAccess } from '../plans/steps.ts'

export interface Totals {
  /** The number of items of a collection. */
  of(collection: string): number
}

/** The inputs of the estimates for one list. */
export interface ListEstimate {
  readonly model: Model
  readonly totals: Totals
  readonly list: GuardedList
  /** The table behind each alias of the statement. */
  readonly tables: ReadonlyMap<string, string>
  /** Limit and offset together. */
  readonly take: number
}

/** The tables of search terms, and those through which rules read rows that the caller cannot see. */
const ownTable = /^_(?:search|all)_(.+?)_?$/

/** The primary key of `_records`, by which rules find the confirmed address of the caller. */
const recordKey = ['kind', 'id']

/** For an equality on a field whose values are unknown. */
const defaultEqualitySelectivity = 0.01
const defaultRangeSelectivity = 0.3
/** For a rule over related rows: most callers see some of the rows. */
const ruleSelectivity = 0.1

export function factsOf({ model, totals, list, tables, take }: ListEstimate): PlanFacts {
  const collectionOf = (alias: string): Collection | undefined => {
    const table = tables.get(alias) ?? alias
    return model.collections.get(table) ?? model.collections.get(ownTable.exec(table)?.[1] ?? '')
  }
  const selectivities = new Selectivities(totals)
  const keySelectivity = (collection: Collection, columns: readonly string[]): number =>
    columns.reduce((selectivity, column) => selectivity * selectivities.ofColumn(collection, column), 1)
  const rowsPerKey = (table: string, columns: readonly string[]): number | undefined => {
    const collection = collectionOf(table)
    return collection && Math.max(1, totals.of(collection.name) * keySelectivity(collection, columns))
  }
  const remainingConditions = (access: PlanAccess) =>
    conjuncts(list.rows).filter(part => !isCovered(part, access))
  const sortFields = list.sort.map(({ field }) => field.field.name)
  const equal = equalFields(list)
  return {
    rowsOf: alias => {
      const collection = collectionOf(alias)
      return collection && totals.of(collection.name)
    },
    isKey: (alias, columns) => {
      const collection = collectionOf(alias)
      if (collection !== undefined) return isUnique(collection, columns)
      return (tables.get(alias) ?? alias) === '_records' && recordKey.every(key => columns.includes(key))
    },
    rowsPerKey,
    hasOneKey: access => access.table === 't0' && access.equal.every(column => equal.includes(column)),
    rowsPerGroup: terms => rowsPerKey('t0', [...equal, ...sortFields.slice(0, sortFields.length - terms)]),
    filtered: access =>
      access.table !== 't0' || remainingConditions(access).length > 0 || !findsByParent(list, access),
    selectivity: access =>
      remainingConditions(access).reduce(
        (selectivity, condition) => selectivity * selectivities.of(condition, list.collection),
        1,
      ),
    take,
    counts: list.readsUnboundedLists,
  }
}

export function conjuncts(condition: Condition): readonly Condition[] {
  if (condition.kind === 'always') return []
  return condition.kind === 'and' ? condition.parts : [condition]
}

/** Whether the access finds exactly the rows that fulfil the condition, which is then not a filter. */
function isCovered(condition: Condition, { equal, ranged }: PlanAccess): boolean {
  if (condition.kind === 'isNull') return equal.includes(condition.field.field.name)
  if (condition.kind !== 'compare' || !isColumn(condition.field)) return false
  const { name } = condition.field.field
  return equal.includes(name) || (condition.operator !== 'eq' && ranged.includes(name))
}

/** Whether the access finds the rows of the list's parent, if it has one. */
function findsByParent({ within }: GuardedList, { equal }: PlanAccess): boolean {
  const relation = within?.path.relation
  return relation?.kind === 'many' ? equal.includes(relation.field) : true
}

/** Fields that have the same value in all rows of the list; the reference to the parent is first. */
export function equalFields(list: Pick<GuardedList, 'rows' | 'within'>): readonly string[] {
  const relation = list.within?.path.relation
  const parentKey = relation?.kind === 'many' ? [relation.field] : []
  const equal = conjuncts(list.rows).flatMap(condition => {
    if (condition.kind === 'isNull' && isColumn(condition.field)) return [condition.field.field.name]
    if (condition.kind !== 'compare' || condition.operator !== 'eq') return []
    return isColumn(condition.field) ? [condition.field.field.name] : []
  })
  return [...new Set([...parentKey, ...equal])]
}

function isUnique(collection: Collection, columns: readonly string[]): boolean {
  if (columns.some(column => column === 'id' || collection.fields.get(column)?.unique)) return true
  return collection.indexes.some(
    ({ unique, keys }) => unique && keys.every(({ field }) => columns.includes(field)),
  )
}

/** The fraction of a collection's rows that fulfils a condition, from 0 to 1. */
class Selectivities {
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
        return condition.parts.reduce((product, part) => product * this.of(part, collection), 1)
      case 'or':
        return Math.min(
          1,
          condition.parts.reduce((sum, part) => sum + this.of(part, collection), 0),
        )
      case 'not':
        return Math.max(defaultEqualitySelectivity, 1 - this.of(condition.part, collection))
      case 'isNull':
      case 'nullness':
        return defaultRangeSelectivity
      case 'fields':
        return ruleSelectivity
      case 'related':
        return condition.stored ? ruleSelectivity : this.#oneRow(collection)
      default:
        return this.#oneRow(collection)
    }
  }

  #ofComparison({ field, operator }: Condition & { kind: 'compare' }, collection: Collection): number {
    if (operator === 'contains' || operator === 'icontains') return this.#oneRow(collection)
    const equal = this.ofColumn(collection, field.field.name)
    // No row may have the client's value.
    if (equal === defaultEqualitySelectivity && (operator === 'eq' || operator === 'in'))
      return this.#oneRow(collection)
    if (operator === 'eq' || operator === 'in') return equal
    return operator === 'ne' ? Math.max(defaultEqualitySelectivity, 1 - equal) : defaultRangeSelectivity
  }

  /** Of an equality with one value of the field. */
  ofColumn(collection: Collection, column: string): number {
    const field = collection.fields.get(column)
    return field === undefined || field.name === 'id' || field.unique
      ? this.#oneRow(collection)
      : this.#ofField(field, collection)
  }

  #ofField({ reference, type }: Field, collection: Collection): number {
    if (reference) return 1 / Math.max(1, this.#totals.of(reference.target))
    const { distinctValues } = type
    if (distinctValues === undefined) return defaultEqualitySelectivity
    return Number.isFinite(distinctValues) ? 1 / distinctValues : this.#oneRow(collection)
  }

  /** Of a condition that at most one row fulfils. */
  #oneRow({ name }: Collection): number {
    return 1 / Math.max(1, this.#totals.of(name))
  }
}
