/** Lists as paths of REST without any values, so that they may be logged and stored. */
import { fold } from '../../../base/predicate.ts'
import { isComputed } from '../../../model/computed/fields.ts'
import type { GuardedAggregate, GuardedList } from '../../plan/guarded.ts'
import type { Condition, ConditionLeaf, GuardedSort, VisibleField } from '../../plan/guarded-conditions.ts'

/** A longer path is cut off. */
const maxCharacters = 300

/** E.g. `/posts?status=…&sort=-created_at`. `path`: by default, that of the collection. */
export function listPath(list: GuardedList, path = pathOf(list)): string {
  const filter = filterParameters(list.rows)
  const sort = sortParameter(list.sort)
  const parts = sort === '' ? filter : [...filter, `sort=${sort}`]
  const text = parts.length === 0 ? path : `${path}?${parts.join('&')}`
  return truncated(text)
}

/** E.g. `/posts/aggregate?status=…&group_by=author_id,created_at:month&count&sum=points`. */
export function aggregatePath({ collection, within, rows, aggregation }: GuardedAggregate): string {
  const { groups, measures } = aggregation
  const keys = groups.map(({ field, part }) => `${nameAlong(field)}${part === undefined ? '' : `:${part}`}`)
  const measureParameters = measures.map(measure =>
    measure.kind === 'count' ? 'count' : `${measure.kind}=${nameAlong(measure.field)}`,
  )
  const parts = [
    ...filterParameters(rows),
    ...(keys.length > 0 ? [`group_by=${keys.join(',')}`] : []),
    ...measureParameters,
  ]
  return truncated(`${pathOf({ collection, within })}/aggregate?${parts.join('&')}`)
}

/** `project.owner.name` */
function nameAlong({ field, computation }: VisibleField): string {
  if (isComputed(field) || computation?.kind !== 'related' || computation.value.kind !== 'column')
    return field.name
  return `${computation.path.relation.name}.${nameAlong(computation.value.field)}`
}

function truncated(text: string): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text
}

function pathOf({ collection, within }: Pick<GuardedList, 'collection' | 'within'>): string {
  return within ? `/${within.collection.name}/…/${within.path.relation.name}` : `/${collection.name}`
}

/** The sort keys as the parameter `sort`, without an implied `id` at the end; empty for the order of ids. */
export function sortParameter(sort: readonly GuardedSort[]): string {
  const keys = sort.map(({ field, descending }) => `${descending ? '-' : ''}${field.field.name}`)
  const isPreviousDescending = sort.at(-2)?.descending ?? false
  const last = sort.at(-1)
  const isExplicit = last?.field.field.name === 'id' && last.descending !== isPreviousDescending
  return (last?.field.field.name === 'id' && !isExplicit ? keys.slice(0, -1) : keys).join(',')
}

/** The client's own conditions; conditions of rules have no parameters. */
export function filterParameters(condition: Condition): readonly string[] {
  const grouped = (name: string, parts: readonly string[]) =>
    parts.length === 0 ? [] : [`${name}(${parts.join(',')})`]
  return fold<ConditionLeaf, readonly string[]>(condition, {
    and: parts => parts.flat(),
    or: parts => grouped('or', parts.flat()),
    not: part => grouped('not', part),
    leaf: leafParameters,
  })
}

function leafParameters(condition: ConditionLeaf): readonly string[] {
  switch (condition.kind) {
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
        : filterParameters(condition.rows).map(part => `${condition.path.relation.name}.${part}`)
    default:
      return []
  }
}
