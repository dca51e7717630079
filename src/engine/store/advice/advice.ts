/** Advice that makes a slow list fast, in terms of the model: the index to declare, or the request to send instead. */
import { leavesOf } from '../../../base/predicate.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { isColumn } from '../../plan/condition.ts'
import type { GuardedList } from '../../plan/guarded.ts'
import type { Condition, GuardedSort } from '../../plan/guarded-conditions.ts'
import type { PlanEstimate } from '../plans/estimate.ts'
import { schemaOf, type Table } from '../schema/tables.ts'
import { conjuncts, equalFields } from './facts.ts'

export interface Advice {
  /** The collection to add the index to; undefined if no index helps. */
  readonly collection?: string
  /** E.g. `index('status', '-created_at')`. */
  readonly index?: string
  readonly sentence: string
}

/** From this offset on, a page is deep: the database reads and skips all rows before it. */
export const deepOffset = 1000

export interface AdvisedList {
  readonly model: Model
  readonly list: GuardedList
  readonly estimate: PlanEstimate
  readonly offset: number
}

/** The most useful advice first; never empty. */
export function adviceFor(plannedList: AdvisedList): readonly Advice[] {
  const { list, offset } = plannedList
  const obstacles = [...obstaclesIn(list), ...relationFilterAdvice(plannedList), ...searchAdvice(list)]
  const range = obstacles.length === 0 ? rangeAdvice(plannedList) : undefined
  // The index exists: only the requested order prevents its use.
  if (range !== undefined && range.index === undefined) return [range]
  const missing = missingIndex(plannedList, obstacles.length > 0)
  if (missing !== undefined) return [missing, ...obstacles]
  if (obstacles.length > 0) return obstacles
  if (range !== undefined) return [range]
  const inequalities = inequalityAdvice(list)
  if (inequalities.length > 0) return inequalities
  return [offset >= deepOffset ? deepPage : noIndexHelps(list)]
}

const deepPage: Advice = {
  sentence: 'A deep `page` reads all rows before it: follow `cursor` instead.',
}

function noIndexHelps({ collection }: GuardedList): Advice {
  return {
    sentence: `No index of \`${collection.name}\` reduces the scan: the read rule or the filter excludes most of the rows that are read.`,
  }
}

function indexAdvice(
  { name: collection }: Collection,
  keys: readonly string[],
  suffix = '',
): Required<Advice> {
  const index = indexText(keys)
  return { collection, index, sentence: `In collection \`${collection}\`, add \`${index}\`${suffix}.` }
}

/** As in a model file. */
export function indexText(keys: readonly string[]): string {
  return `index(${keys.map(key => `'${key}'`).join(', ')})`
}

/**
 * The index that serves equality and order at once, unless it exists or would not help. `hasObstacles`: whether there is a
 * condition that no index serves, for which an index on the order alone would be read to its end.
 */
function missingIndex({ model, list, estimate }: AdvisedList, hasObstacles: boolean): Advice | undefined {
  const { collection } = list
  if (estimate.searches) return undefined
  const required = requiredKeys(list)
  if (required === undefined || required.keys.length === 0) return undefined
  if (hasObstacles && required.equalCount === 0) return undefined
  if (existingIndexes(model, collection).some(index => beginsWithKeys(index, required))) return undefined
  return indexAdvice(collection, withoutImpliedId(required))
}

/** A range in the order of ids would need two indexes, but a database uses only one: it scans in the order of ids. */
function rangeAdvice({ model, list }: AdvisedList): Advice | undefined {
  const { collection, rows, sort } = list
  const equal = indexableEqualFields(list)
  const [field] = conjuncts(rows)
    .flatMap(rangeField)
    .filter(name => !equal.includes(name))
  if (field === undefined || sort[0]?.field.field.name !== 'id' || !isIndexable(collection, field))
    return undefined
  const keys = [...equal, field]
  const request = `request \`sort=${field}\`, because one index cannot return a range in the order of ids`
  if (
    existingIndexes(model, collection).some(index =>
      beginsWithKeys(index, { equalCount: equal.length, keys }),
    )
  ) {
    return { sentence: `For \`${collection.name}\`, ${request}.` }
  }
  return indexAdvice(collection, keys, `, and ${request}`)
}

/** The keys that an index must begin with, each with a `-` if it descends. */
interface RequiredKeys {
  /** How many of the first keys are compared for equality: their order and directions do not matter. */
  readonly equalCount: number
  readonly keys: readonly string[]
}

/** Undefined: no index gives the order. */
function requiredKeys(list: GuardedList): RequiredKeys | undefined {
  const equal = indexableEqualFields(list)
  const sort = list.sort.filter(({ field }) => !equal.includes(field.field.name))
  if (sort.some(({ field }) => !isColumn(field))) return undefined
  const sortKeys = sort.map(keyText)
  const isById = sortKeys.every(key => fieldOfKey(key) === 'id')
  // The order of ids needs no index.
  if (isById && equal.length === 0) return { equalCount: 0, keys: [] }
  return { equalCount: equal.length, keys: [...equal, ...sortKeys] }
}

function indexableEqualFields(list: GuardedList): readonly string[] {
  return equalFields(list).filter(field => isIndexable(list.collection, field))
}

/** Every index ends in the id, in the direction of the key before it; after equalities the direction does not matter. */
function withoutImpliedId({ equalCount, keys }: RequiredKeys): readonly string[] {
  const last = keys.at(-1) ?? ''
  const previous = keys.at(-2)
  if (fieldOfKey(last) !== 'id' || previous === undefined) return keys
  const isImplied = keys.length - 1 === equalCount || isDescending(last) === isDescending(previous)
  return isImplied ? keys.slice(0, -1) : keys
}

function isDescending(key: string): boolean {
  return key.startsWith('-')
}

function keyText({ field, descending }: GuardedSort): string {
  return `${descending ? '-' : ''}${field.field.name}`
}

function isIndexable({ fields }: Collection, name: string): boolean {
  return fields.get(name)?.type.sortable ?? false
}

const rangeOperators: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte', 'in', 'starts_with'])

/** The field that a condition restricts to a range; none for other conditions. */
function rangeField(condition: Condition): readonly string[] {
  if (condition.kind !== 'compare' || !rangeOperators.has(condition.operator)) return []
  return isColumn(condition.field) ? [condition.field.field.name] : []
}

const indexesByModel = new WeakMap<Model, ReadonlyMap<string, readonly (readonly string[])[]>>()

/** The keys of every index of the collection, undeclared ones included. */
export function existingIndexes(model: Model, { name }: Collection): readonly (readonly string[])[] {
  const indexes =
    indexesByModel.get(model) ?? new Map(schemaOf(model).tables.map(table => [table.name, indexKeys(table)]))
  indexesByModel.set(model, indexes)
  return indexes.get(name) ?? []
}

function indexKeys({ indexes }: Table): readonly (readonly string[])[] {
  return indexes.map(({ columns, order }) =>
    order === undefined
      ? [...columns, 'id']
      : order.map(({ column, descending }) => (descending ? `-${column}` : column)),
  )
}

/** Whether the index begins with these keys, in these directions or all reversed. */
function beginsWithKeys(index: readonly string[], { equalCount, keys }: RequiredKeys): boolean {
  if (index.length < keys.length) return false
  const equal = keys.slice(0, equalCount).map(fieldOfKey)
  if (!index.slice(0, equalCount).every(key => equal.includes(fieldOfKey(key)))) return false
  const sortKeys = keys.slice(equalCount)
  const indexPart = index.slice(equalCount, keys.length)
  return (
    sortKeys.every((key, index) => key === indexPart[index]) ||
    sortKeys.every((key, index) => key === reversed(indexPart[index] ?? ''))
  )
}

/** The field of a key, without its direction. */
export function fieldOfKey(key: string): string {
  return key.replace(/^-/, '')
}

function reversed(key: string): string {
  return isDescending(key) ? key.slice(1) : `-${key}`
}

/** For each part of the list that no index serves, what to request instead. */
function obstaclesIn(list: GuardedList): readonly Advice[] {
  const conditions = conjuncts(list.rows).flatMap(condition => conditionObstacles(condition, list))
  return [...new Set([...hiddenSortKeys(list), ...conditions])].map(sentence => ({ sentence }))
}

function hiddenSortKeys({ sort, collection }: GuardedList): readonly string[] {
  return sort
    .filter(({ field }) => !isColumn(field))
    .map(
      ({ field }) =>
        `No index gives the order of \`${field.field.name}\`: in some rows of \`${collection.name}\` its read rule hides it, and there it is sorted as null. Sort by a field that every reader of the row can read.`,
    )
}

function conditionObstacles(condition: Condition, list: GuardedList): readonly string[] {
  switch (condition.kind) {
    case 'compare':
      return comparisonObstacles(condition, list)
    case 'or':
      return isFromClient(condition)
        ? [
            'No index serves an `or` together with an order: request one list for each alternative, or use `in`.',
          ]
        : [ruleObstacle(list)]
    case 'not':
      return isFromClient(condition)
        ? ['No index serves a `not`: filter by the values that are wanted.']
        : [ruleObstacle(list)]
    case 'nullness':
      return [
        `No index serves \`${condition.field.field.name}[null]\`: its argument decides whether null or any other value is wanted.`,
      ]
    default:
      return []
  }
}

function comparisonObstacles(
  { field, operator, operand }: Condition & { kind: 'compare' },
  list: GuardedList,
): string[] {
  const { name, searchable } = field.field
  if (operand.kind !== 'param') return []
  if (!isColumn(field)) {
    return [
      `No index serves the filter by \`${name}\`: in some rows of \`${list.collection.name}\` its read rule hides it.`,
    ]
  }
  if (operator === 'contains' || operator === 'icontains') {
    const declaration = searchable ? '' : ` declare \`${name}\` with \`searchable: true\` and`
    return [
      `No index serves \`${name}[${operator}]\`, which reads every text:${declaration} request \`?q=\`.`,
    ]
  }
  return []
}

/** Most rows fulfil an inequality, so it is mentioned only if there is no other advice. */
function inequalityAdvice({ rows }: GuardedList): readonly Advice[] {
  return conjuncts(rows).flatMap(condition => {
    if (condition.kind !== 'compare' || condition.operator !== 'ne') return []
    if (condition.operand.kind !== 'param') return []
    const { name } = condition.field.field
    return [
      {
        sentence: `No index serves \`${name}[ne]\`: filter by the values that are wanted, \`${name}[in]=…\`.`,
      },
    ]
  })
}

/** Whether the condition, or a part of it, is the client's and not the read rule's. */
function isFromClient(condition: Condition): boolean {
  return leavesOf(condition).some(leaf => {
    if (leaf.kind === 'related') return !leaf.stored
    if (leaf.kind === 'compare') return leaf.operand.kind === 'param'
    return leaf.kind === 'nullness' || leaf.kind === 'search'
  })
}

function ruleObstacle({ collection }: GuardedList): string {
  return `The read rule of \`${collection.name}\` has an \`or\` or a \`not\`, which no index serves: add a filter by equality, for which an index can be used.`
}

/** For filters along relations, which test each row of the list: the targets are found first, by an index. */
function relationFilterAdvice({ model, list }: AdvisedList): readonly Advice[] {
  return conjuncts(list.rows).flatMap(condition => {
    if (condition.kind !== 'related' || condition.stored) return []
    const { target, relation } = condition.path
    const equal = equalFields({ rows: condition.rows, within: undefined })
    const fields = equal.length > 0 ? equal : conjuncts(condition.rows).flatMap(rangeField)
    const field = fields.find(name => name !== 'id' && isIndexable(target, name))
    if (field === undefined) return []
    const problem = `The filter along \`${relation.name}\` tests each row of \`${list.collection.name}\`:`
    const request = `request the items of \`${target.name}\` first, and filter by their ids`
    if (existingIndexes(model, target).some(([key = '']) => fieldOfKey(key) === field)) {
      return [{ sentence: `${problem} ${request}.` }]
    }
    const index = indexText([field])
    const sentence = `${problem} in collection \`${target.name}\`, add \`${index}\`, ${request}.`
    return [{ collection: target.name, index, sentence }]
  })
}

function searchAdvice(list: GuardedList): readonly Advice[] {
  if (!conjuncts(list.rows).some(({ kind }) => kind === 'search')) return []
  const [first] = list.sort
  const key = first?.field.field.name ?? 'id'
  return [
    {
      sentence: `A search sorted by \`${key}\` reads every match: sort it by \`id\`, or search for rarer words.`,
    },
  ]
}
