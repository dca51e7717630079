/** The lists of a read, each as a list of its own whose plan can be examined separately. */
import type { JsonValue } from '../../model/fields/type.ts'
import { always } from '../../plan/condition.ts'
import type {
  GuardedAggregate,
  GuardedList,
  GuardedListRoot,
  GuardedRelation,
  GuardedSelected,
  GuardedSelectedList,
} from '../../plan/guarded.ts'
import type { Param } from '../../plan/plan.ts'
import type { ReadShape } from '../read/answers.ts'
import { aggregateWords, listWords } from './words.ts'

/** One list within a read. */
export interface ListUnit {
  readonly list: GuardedList
  /** The aggregate that the list stands for, whose groups are no rows. */
  readonly aggregate?: GuardedAggregate
  /** As a path of REST, without values: `/posts?status=…&sort=-created_at`. */
  readonly words: string
  /** The limits of the lists around it: it runs once for each of their rows. */
  readonly around: readonly Param[]
  /** The keys that lead to its items in the answer. */
  readonly keys: readonly string[]
}

/** Further lists are not examined: a document can name thousands. */
const maxUnits = 32

/** `argCount`: how many arguments the read has; the one after them stands for the id of a parent. */
export function unitsOf(shape: ReadShape, argCount: number): readonly ListUnit[] {
  const units: ListUnit[] = []
  const place = { units, parent: argCount }
  if (shape.kind === 'list') {
    units.push({ list: { ...shape, select: [] }, words: listWords(shape), around: [], keys: [] })
    nestedUnits(shape.select, {
      ...place,
      path: `/${shape.collection.name}`,
      around: [shape.window.limit],
      keys: [],
      shape,
    })
  } else if (shape.kind === 'item') {
    nestedUnits(shape.select, { ...place, path: `/${shape.collection.name}/…`, around: [], keys: [], shape })
  } else if (shape.kind === 'aggregate') {
    units.push(aggregateUnit(shape, []))
  } else {
    for (const root of shape.roots) {
      const { key, collection } = root
      if (root.kind === 'aggregate') {
        units.push(aggregateUnit({ ...root, ...baseOf(shape), kind: 'aggregate', within: undefined }, [key]))
        continue
      }
      const { select } = root
      const path = `/${collection.name}`
      if (root.kind === 'list') units.push(rootUnit(root, shape))
      const around = root.kind === 'list' ? [root.list.limit] : []
      const keys = root.kind === 'list' ? [key, ...rowKeys(root.list)] : [key]
      nestedUnits(select, { ...place, path, around, keys, shape })
    }
  }
  return units.slice(0, maxUnits)
}

function baseOf({ reads, personal, volatile, counts }: Base): Base {
  return { reads, personal, volatile, counts }
}

/** An aggregate as a list in the order of its groups, which scans all its rows. */
function aggregateUnit(shape: GuardedAggregate, keys: readonly string[]): ListUnit {
  const { collection, within, rows, aggregation } = shape
  const { groups, offset, limit } = aggregation
  const isWhole = groups.every(({ part }) => part === undefined)
  const sort = isWhole ? groups.map(({ field }) => ({ field, descending: false })) : []
  const window = { kind: 'page', offset, limit, total: 'none' } as const
  const list: GuardedList = {
    kind: 'list',
    ...baseOf(shape),
    ...{ collection, within, rows, sort, window },
    select: [],
  }
  return { list, aggregate: shape, words: aggregateWords(shape), around: [], keys }
}

/** Where the rows of a list stand below its key. */
function rowKeys({ connection }: GuardedSelectedList): readonly string[] {
  return connection ? ['rows'] : []
}

type Base = Pick<GuardedList, 'reads' | 'personal' | 'volatile' | 'counts'>

function rootUnit({ key, collection, rows, list }: GuardedListRoot, base: Base): ListUnit {
  const { reads, personal, volatile, counts } = base
  const alone = asList({ reads, personal, volatile, counts, collection, rows, within: undefined }, list)
  return { list: alone, words: listWords(alone), around: [], keys: [key, ...rowKeys(list)] }
}

function asList(
  base: Base & Pick<GuardedList, 'collection' | 'rows' | 'within'>,
  { sort, limit, after }: GuardedSelectedList,
): GuardedList {
  return { ...base, kind: 'list', sort, window: { kind: 'cursor', after, limit }, select: [] }
}

interface Place {
  readonly units: ListUnit[]
  readonly parent: Param
  readonly path: string
  readonly around: readonly Param[]
  readonly keys: readonly string[]
  readonly shape: Base
}

function nestedUnits(select: readonly GuardedSelected[], place: Place): void {
  for (const each of select) {
    if (each.kind !== 'relation' || place.units.length >= maxUnits) continue
    const { list, path, key } = each
    const keys = [...place.keys, key]
    if (list === undefined) nestedUnits(each.select, { ...place, keys, path: `/${path.target.name}` })
    else nestedList(each, list, { ...place, keys: [...keys, ...rowKeys(list)] })
  }
}

function nestedList({ path, rows, select }: GuardedRelation, list: GuardedSelectedList, place: Place): void {
  const { units, parent, around, shape, keys } = place
  const collection = path.target
  const { reads, personal, volatile, counts } = shape
  const base = { reads, personal, volatile, counts, collection, rows }
  // Only the id of the parent matters.
  const within = { collection, id: parent, rows: always, path }
  const alone = asList({ ...base, within }, list)
  const start = place.path.endsWith('/…') ? place.path : `${place.path}/…`
  units.push({ list: alone, words: listWords(alone, `${start}/${path.relation.name}`), around, keys })
  nestedUnits(select, { ...place, path: `/${collection.name}`, around: [...around, list.limit] })
}

/** How many rows a list returns at most, and how many it skips before them. */
export function windowOf(
  { window }: GuardedList,
  args: readonly JsonValue[],
): { limit: number; offset: number } {
  const offset = window.kind === 'page' ? Number(args[window.offset] ?? 0) : 0
  return { limit: Number(args[window.limit] ?? 0), offset }
}
