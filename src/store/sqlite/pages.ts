/** Pages by number. Beyond the first few hundred rows they begin at a remembered anchor. */
import type { ListAnswer } from '../../plan/answer.ts'
import type { GuardedList } from '../../plan/guarded.ts'
import type { PageWindow } from '../../plan/plan.ts'
import { type Anchor, AnchoredLists, type Anchors, SHALLOW } from '../anchors.ts'
import { pageAnswer, pageLimit } from '../lists.ts'
import { isById, positionSql, type Slice } from '../sql/read.ts'
import { sqlite } from '../sql/sqlite.ts'
import { arg, type Bind, type Sql, slot } from '../sql/writer.ts'
import type { Inputs, ResultRow, SqlValue } from '../values.ts'
import { stampOf, type Version } from '../versions.ts'
import type { Statement } from './connection.ts'
import type { ReadContext } from './context.ts'
import { type ListRows, listRows } from './related-rows.ts'
import { totalReader } from './totals.ts'

const SPACING = 500
/** No two anchors are nearer: what they take is bounded by the rows, not by the requests. */
const NEAREST = 100

export function pageReader(
  shape: GuardedList,
  window: PageWindow,
  context: ReadContext,
): (inputs: Inputs) => ListAnswer {
  const offset = arg(window.offset, 'number')
  const size = { rows: pageSize(window), skipped: ({ args }: Inputs) => Number(args[window.offset]) }
  const shallow = listRows(shape, fromStart(window, offset), size, context)
  const total = totalReader(shape, window.total, context)
  let deep: ListRows | undefined
  return inputs => {
    const isDeep = Number(inputs.args[window.offset]) >= SHALLOW
    if (isDeep) deep ??= deepReader(shape, window, context)
    const count = total?.(inputs)
    const rows = (isDeep && deep !== undefined ? deep : shallow).all(inputs, count?.total)
    return pageAnswer(rows, count, window, inputs.args)
  }
}

/** How many rows a page is read with. */
function pageSize({ limit, total }: PageWindow): (inputs: Inputs) => number {
  return ({ args }) => Number(args[limit]) + (total === 'exact' ? 0 : 1)
}

function fromStart(window: PageWindow, offset: Bind): Slice {
  return { after: undefined, limit: pageLimit(window, sqlite), offset, keys: false }
}

/** Reads pages from anchors that it remembers while no row before them can have changed. */
function deepReader(shape: GuardedList, window: PageWindow, context: ReadContext): ListRows {
  const lists = new AnchoredLists(shape, window)
  const statements = anchoredStatements(shape, window, context)
  const reads = orderOf(shape, context)
  const walks = isPlain(shape)
  const all = (inputs: Inputs, total?: number) => {
    const anchors = lists.of(inputs, stampOf(reads))
    const offset = Number(inputs.args[window.offset])
    if (walks) walk(anchors, offset, statements, inputs)
    const from = anchors.before(offset)
    const rows = statements.rows(from).all(withSlots(inputs, offset - (from?.offset ?? 0), from), total)
    remember(anchors, offset, rows)
    return rows
  }
  return { all }
}

/** The versions that tell whether an anchor may have moved. */
function orderOf(shape: GuardedList, { versions, orders }: ReadContext): readonly Version[] {
  const ascending = shape.sort[0]?.descending === false
  // New rows come last in the order of ids, and nothing but a deletion takes a row out.
  if (isPlain(shape) && ascending) return [orders.cell(shape.collection.name)]
  return shape.reads.map(collection => versions.cell(collection))
}

function isPlain(shape: GuardedList): boolean {
  return isById(shape) && shape.rows.kind === 'always' && shape.within === undefined
}

interface AnchoredStatements {
  /** A page's rows with their keys, beginning at the anchor. */
  rows(from: Anchor | undefined): ListRows
  /** The position some rows after the anchor. */
  position(from: Anchor | undefined): Statement
}

function anchoredStatements(
  shape: GuardedList,
  window: PageWindow,
  context: ReadContext,
): AnchoredStatements {
  const position = shape.sort.map((_, index) => slot(index + 1))
  const page = (after: Slice['after']): Slice => ({
    after,
    limit: pageLimit(window, sqlite),
    offset: slot(0),
    keys: true,
  })
  const prepare = (fragment: Sql) => context.connection.prepare(fragment)
  const size = { rows: pageSize(window), skipped: ({ slots }: Inputs) => Number(slots[0]) }
  const first = listRows(shape, page(undefined), size, context)
  const later = listRows(shape, page(position), size, context)
  const firstPosition = prepare(positionSql(shape, { ...page(undefined), limit: ['1'] }, sqlite))
  const laterPosition = prepare(positionSql(shape, { ...page(position), limit: ['1'] }, sqlite))
  return {
    rows: from => (from === undefined ? first : later),
    position: from => (from === undefined ? firstPosition : laterPosition),
  }
}

function withSlots(inputs: Inputs, offset: number, from: Anchor | undefined): Inputs {
  return { ...inputs, slots: [offset, ...(from?.position ?? [])] }
}

/** Drops anchors on the way to `offset`; costs what counting the rows would. */
function walk(anchors: Anchors, offset: number, statements: AnchoredStatements, inputs: Inputs): void {
  let from = anchors.before(offset)
  while (offset - (from?.offset ?? 0) > SPACING) {
    const position = statements.position(from).get(withSlots(inputs, SPACING - 1, from))
    if (position === undefined) return
    from = { offset: (from?.offset ?? 0) + SPACING, position }
    anchors.add(from)
  }
}

function remember(anchors: Anchors, offset: number, rows: readonly ResultRow[]): void {
  const last = rows.at(-1)
  const after = offset + rows.length
  if (last === undefined || after - (anchors.before(after)?.offset ?? 0) < NEAREST) return
  const position: readonly SqlValue[] = last.slice(1)
  anchors.add({ offset: after, position })
}
