/** The lists of a read, each as a separate list whose plan can be examined. */

import { isComputed } from '../../../model/computed/fields.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { always } from '../../plan/condition.ts'
import type {
  GuardedAggregate,
  GuardedGroupKey,
  GuardedList,
  GuardedListRoot,
  GuardedRelation,
  GuardedSelected,
  GuardedSelectedList,
} from '../../plan/guarded.ts'
import type { Param } from '../../plan/plan.ts'
import type { GuardedReadShape } from '../read/answers.ts'
import { aggregatePath, listPath } from './list-paths.ts'

/** One list within a read. */
export interface ListUnit {
  readonly list: GuardedList
  /** The aggregate that the list represents, whose groups are not rows. */
  readonly aggregate?: GuardedAggregate
  /** In REST, without values: `/posts?status=…&sort=-created_at`. */
  readonly path: string
  /** The limits of the lists that contain it: it runs once for each of their rows. */
  readonly outerLimits: readonly Param[]
  /** The keys that lead to its items in the answer. */
  readonly keys: readonly string[]
}

/** At most `maxUnits`. `argCount`: how many arguments the read has; the one after them stands for the id of a parent. */
export function unitsOf(shape: GuardedReadShape, argCount: number, maxUnits: number): readonly ListUnit[] {
  const units: ListUnit[] = []
  const context = { units, maxUnits, parent: argCount }
  if (shape.kind === 'list') {
    units.push({ list: { ...shape, select: [] }, path: listPath(shape), outerLimits: [], keys: [] })
    nestedUnits(shape.select, {
      ...context,
      path: `/${shape.collection.name}`,
      outerLimits: [shape.window.limit],
      keys: [],
      shape,
    })
  } else if (shape.kind === 'item') {
    nestedUnits(shape.select, {
      ...context,
      path: `/${shape.collection.name}/…`,
      outerLimits: [],
      keys: [],
      shape,
    })
  } else if (shape.kind === 'aggregate') {
    units.push(aggregateUnit(shape, []))
  } else {
    for (const root of shape.roots) {
      const { key, collection } = root
      if (root.kind === 'aggregate') {
        units.push(
          aggregateUnit({ ...root, ...readProperties(shape), kind: 'aggregate', within: undefined }, [key]),
        )
        continue
      }
      const { select } = root
      const path = `/${collection.name}`
      if (root.kind === 'list') units.push(rootUnit(root, shape))
      const outerLimits = root.kind === 'list' ? [root.list.limit] : []
      const keys = root.kind === 'list' ? [key, ...rowKeys(root.list)] : [key]
      nestedUnits(select, { ...context, path, outerLimits, keys, shape })
    }
  }
  return units.slice(0, maxUnits)
}

function readProperties({ reads, personal, volatile, readsUnboundedLists }: ReadProperties): ReadProperties {
  return { reads, personal, volatile, readsUnboundedLists }
}

/** An aggregate as a list in the order of its groups, which scans all its rows. */
function aggregateUnit(shape: GuardedAggregate, keys: readonly string[]): ListUnit {
  const { collection, within, rows, aggregation } = shape
  const { groups, offset, limit } = aggregation
  // Neither parts nor fields of related items are in the order of an index of the collection.
  const isOwn = ({ field: { field, computation } }: GuardedGroupKey) =>
    computation === undefined || isComputed(field)
  const mayBeSorted = groups.every(group => group.part === undefined && isOwn(group))
  const sort = mayBeSorted ? groups.map(({ field }) => ({ field, descending: false })) : []
  const window = { kind: 'page', offset, limit, total: 'none' } as const
  const list: GuardedList = {
    kind: 'list',
    ...readProperties(shape),
    ...{ collection, within, rows, sort, window },
    select: [],
  }
  return { list, aggregate: shape, path: aggregatePath(shape), outerLimits: [], keys }
}

/** The keys that lead from a list to its rows in the answer. */
function rowKeys({ connection }: GuardedSelectedList): readonly string[] {
  return connection ? ['rows'] : []
}

type ReadProperties = Pick<GuardedList, 'reads' | 'personal' | 'volatile' | 'readsUnboundedLists'>

function rootUnit({ key, collection, rows, list }: GuardedListRoot, base: ReadProperties): ListUnit {
  const unitList = asList({ ...readProperties(base), collection, rows, within: undefined }, list)
  return { list: unitList, path: listPath(unitList), outerLimits: [], keys: [key, ...rowKeys(list)] }
}

function asList(
  base: ReadProperties & Pick<GuardedList, 'collection' | 'rows' | 'within'>,
  { sort, limit, after }: GuardedSelectedList,
): GuardedList {
  return { ...base, kind: 'list', sort, window: { kind: 'cursor', after, limit }, select: [] }
}

interface NestingContext {
  readonly units: ListUnit[]
  readonly maxUnits: number
  readonly parent: Param
  readonly path: string
  readonly outerLimits: readonly Param[]
  readonly keys: readonly string[]
  readonly shape: ReadProperties
}

function nestedUnits(select: readonly GuardedSelected[], context: NestingContext): void {
  for (const selected of select) {
    if (selected.kind !== 'relation' || context.units.length >= context.maxUnits) continue
    const { list, path, key } = selected
    const keys = [...context.keys, key]
    if (list === undefined) nestedUnits(selected.select, { ...context, keys, path: `/${path.target.name}` })
    else nestedList(selected, list, { ...context, keys: [...keys, ...rowKeys(list)] })
  }
}

function nestedList(
  { path, rows, select }: GuardedRelation,
  list: GuardedSelectedList,
  context: NestingContext,
): void {
  const { units, parent, outerLimits, shape, keys } = context
  const collection = path.target
  const base = { ...readProperties(shape), collection, rows }
  // Only the id of the parent matters.
  const within = { collection, id: parent, rows: always, path }
  const unitList = asList({ ...base, within }, list)
  const parentPath = context.path.endsWith('/…') ? context.path : `${context.path}/…`
  units.push({
    list: unitList,
    path: listPath(unitList, `${parentPath}/${path.relation.name}`),
    outerLimits,
    keys,
  })
  nestedUnits(select, { ...context, path: `/${collection.name}`, outerLimits: [...outerLimits, list.limit] })
}

/** How many rows a list returns at most, and how many it skips before them. */
export function windowOf(
  { window }: GuardedList,
  args: readonly JsonValue[],
): { limit: number; offset: number } {
  const offset = window.kind === 'page' ? Number(args[window.offset] ?? 0) : 0
  return { limit: Number(args[window.limit] ?? 0), offset }
}
