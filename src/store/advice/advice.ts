/** Advice that makes a slow list fast, in the terms of the model. */
import type { Collection, Model } from '../../model/model.ts'
import { isColumn } from '../../plan/condition.ts'
import type { Condition, GuardedList, GuardedSort } from '../../plan/guarded.ts'
import type { PlanEstimate } from '../plans/estimate.ts'
import { schemaOf, type Table } from '../schema/tables.ts'
import { conjuncts, equalFields } from './facts.ts'

/** One sentence, or two. */
export interface Advice {
  /** The collection that gets an index; undefined where none helps. */
  readonly collection?: string
  /** E.g. `index('status', '-created_at')`. */
  readonly index?: string
  readonly sentence: string
}

/** From this offset on a page is deep: the rows before it are skipped one by one. */
export const deepOffset = 1000

export interface PlannedList {
  readonly model: Model
  readonly list: GuardedList
  readonly estimate: PlanEstimate
  readonly offset: number
}

/** The most useful advice first; never empty. */
export function adviceFor(slow: PlannedList): readonly Advice[] {
  const { list, offset } = slow
  const obstacles = [...obstaclesOf(list), ...targetIndexes(slow), ...searchAdvice(list)]
  const missing = missingIndex(slow, obstacles.length > 0)
  if (missing !== undefined) return [missing, ...obstacles]
  if (obstacles.length > 0) return obstacles
  const ranged = rangeAdvice(slow)
  if (ranged !== undefined) return [ranged]
  const unequal = unequalAdvice(list)
  if (unequal.length > 0) return unequal
  if (offset >= deepOffset) return [deepPage]
  return [{ sentence: noneLeft(list) }]
}

const deepPage: Advice = {
  sentence: 'A deep `page` counts its way from the first row: follow `cursor` instead.',
}

function noneLeft({ collection }: GuardedList): string {
  return `No index of \`${collection.name}\` makes fewer of it: the read rule or the filter leaves few of the rows that are looked at.`
}

/**
 * The index that serves equality and order at once, unless it exists or would not help. `isFiltered`: whether there is a
 * condition that no index serves, for which an index on the order alone would be read to its end.
 */
function missingIndex({ model, list, estimate }: PlannedList, isFiltered: boolean): Advice | undefined {
  const { collection } = list
  if (estimate.searches) return undefined
  const wanted = wantedKeys(list)
  if (wanted === undefined || wanted.all.length === 0) return undefined
  if (isFiltered && wanted.equal === 0) return undefined
  if (existingIndexes(model, collection).some(index => serves(index, wanted))) return undefined
  const index = `index(${shownKeys(wanted)
    .map(key => `'${key}'`)
    .join(', ')})`
  return {
    collection: collection.name,
    index,
    sentence: `In collection \`${collection.name}\`, add \`${index}\`.`,
  }
}

/** A range in the order of ids needs two indexes, of which a database uses one: it scans in the order of ids. */
function rangeAdvice({ model, list }: PlannedList): Advice | undefined {
  const { collection, rows, sort } = list
  const [field] = conjuncts(rows).flatMap(each => rangedField(each, []))
  if (field === undefined || sort[0]?.field.field.name !== 'id' || !isIndexable(collection, field))
    return undefined
  const asked = `ask with \`sort=${field}\`, since one index does not give a range in the order of ids`
  if (existingIndexes(model, collection).some(([first = '']) => bare(first) === field)) {
    return { sentence: `For \`${collection.name}\`, ${asked}.` }
  }
  const index = `index('${field}')`
  return {
    collection: collection.name,
    index,
    sentence: `In collection \`${collection.name}\`, add \`${index}\`, and ${asked}.`,
  }
}

/** The keys of an index, with a `-` before each that descends. */
interface WantedKeys {
  /** How many of the first keys are compared for equality: their order and directions do not matter. */
  readonly equal: number
  readonly all: readonly string[]
}

/** Undefined: no index gives the order. */
function wantedKeys(list: GuardedList): WantedKeys | undefined {
  const fields = equalFields(list).filter(field => isIndexable(list.collection, field))
  const keys = list.sort.filter(({ field }) => !fields.includes(field.field.name))
  if (keys.some(({ field }) => !isColumn(field))) return undefined
  const sorted = keys.map(written)
  if (sorted.some(key => bare(key) !== 'id')) return { equal: fields.length, all: [...fields, ...sorted] }
  return { equal: fields.length, all: fields.length > 0 ? [...fields, ...sorted] : [] }
}

/** Every index ends in the id, in the direction of the key before it; after equalities the direction does not matter. */
function shownKeys({ equal, all }: WantedKeys): readonly string[] {
  const last = all.at(-1) ?? ''
  const before = all.at(-2)
  if (bare(last) !== 'id' || before === undefined) return all
  const isImplied = all.length - 1 === equal || isDescending(last) === isDescending(before)
  return isImplied ? all.slice(0, -1) : all
}

function isDescending(key: string): boolean {
  return key.startsWith('-')
}

function written({ field, descending }: GuardedSort): string {
  return `${descending ? '-' : ''}${field.field.name}`
}

function isIndexable({ fields }: Collection, name: string): boolean {
  return fields.get(name)?.type.sortable ?? false
}

const rangeOperators: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte', 'in', 'starts_with'])

function rangedField(condition: Condition, equal: readonly string[]): readonly string[] {
  if (condition.kind !== 'compare' || !rangeOperators.has(condition.operator)) return []
  const { name } = condition.field.field
  return isColumn(condition.field) && !equal.includes(name) ? [name] : []
}

const schemas = new WeakMap<Model, ReadonlyMap<string, readonly (readonly string[])[]>>()

/** The keys of every index of the collection, undeclared ones included. */
export function existingIndexes(model: Model, { name }: Collection): readonly (readonly string[])[] {
  const known =
    schemas.get(model) ?? new Map(schemaOf(model).tables.map(table => [table.name, keysOf(table)]))
  schemas.set(model, known)
  return known.get(name) ?? []
}

function keysOf({ indexes }: Table): readonly (readonly string[])[] {
  return indexes.map(({ columns, order }) =>
    order === undefined
      ? [...columns, 'id']
      : order.map(({ column, descending }) => (descending ? `-${column}` : column)),
  )
}

/** Whether the index begins with these keys, in these directions or all reversed. */
function serves(index: readonly string[], { equal, all }: WantedKeys): boolean {
  if (index.length < all.length) return false
  const names = all.slice(0, equal).map(bare)
  if (!index.slice(0, equal).every(key => names.includes(bare(key)))) return false
  const wanted = all.slice(equal)
  const given = index.slice(equal, all.length)
  return (
    wanted.every((key, at) => key === given[at]) ||
    wanted.every((key, at) => key === reversed(given[at] ?? ''))
  )
}

export function bare(field: string): string {
  return field.replace(/^-/, '')
}

function reversed(field: string): string {
  return field.startsWith('-') ? field.slice(1) : `-${field}`
}

/** Parts of the list that no index serves, with the alternatives. */
function obstaclesOf(list: GuardedList): readonly Advice[] {
  const sentences = [...hiddenSorts(list), ...conjuncts(list.rows).flatMap(each => obstacle(each, list))]
  return [...new Set(sentences)].map(sentence => ({ sentence }))
}

function hiddenSorts({ sort, collection }: GuardedList): readonly string[] {
  return sort
    .filter(({ field }) => !isColumn(field))
    .map(
      ({ field }) =>
        `No index gives the order of \`${field.field.name}\`: in some rows of \`${collection.name}\` its read rule hides it, and there it is sorted as null. Sort by a field that whoever may read the row may read.`,
    )
}

function obstacle(condition: Condition, list: GuardedList): readonly string[] {
  switch (condition.kind) {
    case 'compare':
      return comparedObstacle(condition, list)
    case 'or':
      return isGiven(condition)
        ? ['No index serves an `or` together with an order: ask one list for each alternative, or use `in`.']
        : [ruleSentence(list)]
    case 'not':
      return isGiven(condition)
        ? ['No index serves a `not`: filter by the values that are wanted.']
        : [ruleSentence(list)]
    case 'nullness':
      return [`No index serves \`${condition.field.field.name}[null]\`, whose value decides what is asked.`]
    default:
      return []
  }
}

function comparedObstacle(
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
    const declared = searchable ? '' : ` declare \`${name}\` with \`searchable: true\` and`
    return [
      `No index serves \`${name}[${operator}]\`, which looks into every text:${declared} ask with \`?q=\`.`,
    ]
  }
  return []
}

/** Most rows fulfil an inequality, so it is mentioned only where there is nothing else. */
function unequalAdvice({ rows }: GuardedList): readonly Advice[] {
  return conjuncts(rows).flatMap(each => {
    if (each.kind !== 'compare' || each.operator !== 'ne' || each.operand.kind !== 'param') return []
    const { name } = each.field.field
    return [
      { sentence: `No index serves \`${name}[ne]\`: ask for the values that are wanted, \`${name}[in]=…\`.` },
    ]
  })
}

function isGiven(condition: Condition): boolean {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.conditions.some(isGiven)
    case 'not':
      return isGiven(condition.condition)
    case 'related':
      return !condition.stored
    case 'compare':
      return condition.operand.kind === 'param'
    default:
      return condition.kind === 'nullness' || condition.kind === 'search'
  }
}

function ruleSentence({ collection }: GuardedList): string {
  return `The read rule of \`${collection.name}\` has an \`or\` or a \`not\`, which no index serves: a filter that is an equality lets one be used.`
}

/** Filters along relations find the rows of the target first where an index leads to them. */
function targetIndexes({ model, list }: PlannedList): readonly Advice[] {
  return conjuncts(list.rows).flatMap(each => {
    if (each.kind !== 'related' || each.stored) return []
    const { target, relation } = each.path
    const equal = equalFields({ rows: each.rows, within: undefined })
    const fields = equal.length > 0 ? equal : conjuncts(each.rows).flatMap(one => rangedField(one, []))
    const plain = fields.filter(field => field !== 'id' && isIndexable(target, field)).slice(0, 1)
    if (plain.length === 0) return []
    const where = `The filter along \`${relation.name}\` looks at each row of \`${list.collection.name}\`:`
    const first = `ask for the items of \`${target.name}\` first, and filter by their ids`
    if (existingIndexes(model, target).some(([first = '']) => bare(first) === plain[0])) {
      return [{ sentence: `${where} ${first}.` }]
    }
    const index = `index('${plain[0]}')`
    const sentence = `${where} in collection \`${target.name}\`, add \`${index}\`, ${first}.`
    return [{ collection: target.name, index, sentence }]
  })
}

function searchAdvice(list: GuardedList): readonly Advice[] {
  if (!conjuncts(list.rows).some(({ kind }) => kind === 'search')) return []
  const [first] = list.sort
  const by = first?.field.field.name ?? 'id'
  return [
    {
      sentence: `A search sorted by \`${by}\` looks at all that it finds: sort it by \`id\`, or search for rarer words.`,
    },
  ]
}
