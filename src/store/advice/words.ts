/** Lists as REST requests without any values, which may be logged and stored. */
import type { Condition, GuardedAggregate, GuardedList, GuardedSort } from '../../plan/guarded.ts'

/** Longer ones end in `…`. */
const maxWords = 300

/** E.g. `/posts?status=…&sort=-created_at`. `path`: that of the list, where it is not its collection's. */
export function listWords(list: GuardedList, path = pathOf(list)): string {
  const filter = filterWords(list.rows)
  const sort = sortWords(list.sort)
  const parts = sort === '' ? filter : [...filter, `sort=${sort}`]
  const words = parts.length === 0 ? path : `${path}?${parts.join('&')}`
  return shortened(words)
}

/** E.g. `/posts/aggregate?status=…&group_by=author_id,created_at:month&count&sum=points`. */
export function aggregateWords({ collection, within, rows, aggregation }: GuardedAggregate): string {
  const { groups, measures } = aggregation
  const keys = groups.map(({ field, part }) => `${field.field.name}${part === undefined ? '' : `:${part}`}`)
  const figures = measures.map(each =>
    each.kind === 'count' ? 'count' : `${each.kind}=${each.field.field.name}`,
  )
  const parts = [...filterWords(rows), ...(keys.length > 0 ? [`group_by=${keys.join(',')}`] : []), ...figures]
  return shortened(`${pathOf({ collection, within })}/aggregate?${parts.join('&')}`)
}

function shortened(words: string): string {
  return words.length > maxWords ? `${words.slice(0, maxWords)}…` : words
}

function pathOf({ collection, within }: Pick<GuardedList, 'collection' | 'within'>): string {
  return within ? `/${within.collection.name}/…/${within.path.relation.name}` : `/${collection.name}`
}

/** The sort keys as the parameter `sort`; the `id` that ends every order, and the order of ids, are left out. */
export function sortWords(sort: readonly GuardedSort[]): string {
  const keys = sort.map(({ field, descending }) => `${descending ? '-' : ''}${field.field.name}`)
  const before = sort.at(-2)?.descending ?? false
  const last = sort.at(-1)
  const isGiven = last?.field.field.name === 'id' && last.descending !== before
  return (last?.field.field.name === 'id' && !isGiven ? keys.slice(0, -1) : keys).join(',')
}

/** The client's own conditions: those of rules have no parameters. */
export function filterWords(condition: Condition): readonly string[] {
  switch (condition.kind) {
    case 'and':
      return condition.conditions.flatMap(filterWords)
    case 'or': {
      const parts = condition.conditions.flatMap(filterWords)
      return parts.length === 0 ? [] : [`or(${parts.join(',')})`]
    }
    case 'not': {
      const parts = filterWords(condition.condition)
      return parts.length === 0 ? [] : [`not(${parts.join(',')})`]
    }
    case 'compare': {
      const { field, operator, operand } = condition
      if (operand.kind !== 'param') return []
      return [`${field.field.name}${operator === 'eq' ? '' : `[${operator}]`}=…`]
    }
    case 'nullness':
      return [`${condition.field.field.name}[null]=…`]
    case 'search':
      return ['q=…']
    case 'related':
      return condition.stored
        ? []
        : filterWords(condition.rows).map(part => `${condition.path.relation.name}.${part}`)
    default:
      return []
  }
}
