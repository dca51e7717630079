/** What makes a slow list fast, in the model's own words. */
import type { Collection, Model } from '../../model/model.ts'
import type { Condition, GuardedList, GuardedSort, VisibleField } from '../../plan/guarded.ts'
import type { PlanEstimate } from '../sqlite/plan-estimate.ts'
import { conjuncts, equalFields } from './facts.ts'

/** One sentence, or two. */
export interface Advice {
  /** The collection that gets an index; undefined where none helps. */
  readonly collection?: string
  /** E.g. `index('status', '-created_at')`. */
  readonly index?: string
  readonly sentence: string
}

/** An offset from which a page is deep: its rows are counted one by one. */
export const deepOffset = 1000

export interface Slow {
  readonly model: Model
  readonly list: GuardedList
  readonly estimate: PlanEstimate
  readonly offset: number
}

/** What to do, the most useful first; never empty. */
export function adviceFor(slow: Slow): readonly Advice[] {
  const { list, offset } = slow
  const obstacles = obstaclesOf(list)
  const missing = missingIndex(slow)
  const found = [...(missing ? [missing] : []), ...obstacles, ...targetIndexes(slow), ...searchAdvice(list)]
  if (found.length > 0) return found
  if (offset >= deepOffset) return [deepPage]
  return [{ sentence: noneLeft(list) }]
}

const deepPage: Advice = {
  sentence: 'A deep `page` counts its way from the first row: follow `cursor` instead.',
}

function noneLeft({ collection }: GuardedList): string {
  return `No index of \`${collection.name}\` makes fewer of it: the read rule or the filter leaves few of the rows that are looked at.`
}

/** The index that serves equality and order at once, unless it is there or nothing would come of it. */
function missingIndex({ list, estimate }: Slow): Advice | undefined {
  const { collection } = list
  if (estimate.searches) return undefined
  const fields = indexFields(list)
  if (fields === undefined || fields.length === 0 || isThere(collection, fields, list)) return undefined
  const index = `index(${fields.map(field => `'${field}'`).join(', ')})`
  return {
    collection: collection.name,
    index,
    sentence: `In collection \`${collection.name}\`, add \`${index}\`.`,
  }
}

/** What the index is made of: a `-` before what is sorted descending. Undefined: no index gives the order. */
function indexFields(list: GuardedList): readonly string[] | undefined {
  const equal = equalFields(list).filter(field => isIndexable(list.collection, field))
  const keys = list.sort.filter(({ field }) => !equal.includes(field.field.name))
  if (keys.some(({ field }) => !isPlain(field))) return undefined
  const sorted = keys.filter(({ field }) => field.field.name !== 'id').map(written)
  if (sorted.length > 0) return [...equal, ...sorted]
  const range = conjuncts(list.rows).flatMap(each => rangedField(each, equal))
  // An equality leaves the rows in the order of their ids; a range does not.
  return equal.length > 0 ? equal : range.slice(0, 1)
}

function written({ field, descending }: GuardedSort): string {
  return `${descending ? '-' : ''}${field.field.name}`
}

function isPlain({ when }: VisibleField): boolean {
  return when.kind === 'always'
}

function isIndexable({ fields }: Collection, name: string): boolean {
  return fields.get(name)?.type.sortable ?? false
}

const rangeOperators: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte', 'in'])

function rangedField(condition: Condition, equal: readonly string[]): readonly string[] {
  if (condition.kind !== 'compare' || !rangeOperators.has(condition.operator)) return []
  const { name } = condition.field.field
  return isPlain(condition.field) && !equal.includes(name) ? [name] : []
}

/** Whether an index that is there begins with these fields, in this direction or all the other way round. */
function isThere(collection: Collection, wanted: readonly string[], list: GuardedList): boolean {
  const equalCount = equalFields(list).filter(field => isIndexable(collection, field)).length
  const indexes = [...collection.indexes.map(({ fields }) => fields), ...ownIndexes(collection)]
  return indexes.some(fields => serves(fields, wanted, equalCount))
}

/** Indexes that no declaration names. */
function ownIndexes({ fields }: Collection): readonly (readonly string[])[] {
  return [...fields.values()].filter(field => field.unique || field.reference).map(field => [field.name])
}

/** The first `equalCount` may stand in any order, and their direction does not matter. */
function serves(fields: readonly string[], wanted: readonly string[], equalCount: number): boolean {
  if (fields.length < wanted.length) return false
  const names = fields.map(bare)
  const equal = wanted.slice(0, equalCount).map(bare)
  if (!names.slice(0, equalCount).every(name => equal.includes(name))) return false
  const rest = wanted.slice(equalCount)
  const given = fields.slice(equalCount, wanted.length)
  const sameWay = rest.every((field, at) => field === given[at])
  return sameWay || rest.every((field, at) => field === reversed(given[at] ?? ''))
}

function bare(field: string): string {
  return field.replace(/^-/, '')
}

function reversed(field: string): string {
  return field.startsWith('-') ? field.slice(1) : `-${field}`
}

/** What no index serves, and what does. */
function obstaclesOf(list: GuardedList): readonly Advice[] {
  const sentences = [...hiddenSorts(list), ...conjuncts(list.rows).flatMap(each => obstacle(each, list))]
  return [...new Set(sentences)].map(sentence => ({ sentence }))
}

function hiddenSorts({ sort, collection }: GuardedList): readonly string[] {
  return sort
    .filter(({ field }) => !isPlain(field))
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
  if (!isPlain(field)) {
    return [
      `No index serves the filter by \`${name}\`: in some rows of \`${list.collection.name}\` its read rule hides it.`,
    ]
  }
  if (operator === 'contains') {
    const declared = searchable ? '' : ` declare \`${name}\` with \`searchable: true\` and`
    return [
      `No index serves \`${name}[contains]\`, which looks into every text:${declared} ask with \`?q=\`.`,
    ]
  }
  if (operator === 'ne') {
    return [`No index serves \`${name}[ne]\`: ask for the values that are wanted, \`${name}[in]=…\`.`]
  }
  return []
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

/** Filters along relations look for the rows of the target first where an index finds these. */
function targetIndexes({ list }: Slow): readonly Advice[] {
  return conjuncts(list.rows).flatMap(each => {
    if (each.kind !== 'related' || each.stored) return []
    const { target, relation } = each.path
    const equal = equalFields({ rows: each.rows, within: undefined })
    const fields = equal.length > 0 ? equal : conjuncts(each.rows).flatMap(one => rangedField(one, []))
    const plain = fields.filter(field => field !== 'id' && isIndexable(target, field)).slice(0, 1)
    if (plain.length === 0) return []
    const where = `The filter along \`${relation.name}\` looks at each row:`
    if (ownOrDeclared(target).some(index => index[0] !== undefined && bare(index[0]) === plain[0])) {
      return [
        { sentence: `${where} ask for the items of \`${target.name}\` first, and filter by their ids.` },
      ]
    }
    const index = `index('${plain[0]}')`
    const sentence = `${where} in collection \`${target.name}\`, add \`${index}\`.`
    return [{ collection: target.name, index, sentence }]
  })
}

function ownOrDeclared(collection: Collection): readonly (readonly string[])[] {
  return [...collection.indexes.map(({ fields }) => fields), ...ownIndexes(collection)]
}

function searchAdvice(list: GuardedList): readonly Advice[] {
  if (!conjuncts(list.rows).some(({ kind }) => kind === 'search')) return []
  const [first] = list.sort
  const by = first?.field.field.name ?? 'id'
  return [
    {
      sentence: `A search sorted by \`${by}\` looks at all that it finds: search for rarer words, or for more of them.`,
    },
  ]
}
