/** Pages by number. Beyond the first few hundred rows they begin at a remembered anchor. */
import type { ListAnswer } from '../../../plan/answer.ts'
import type { GuardedList } from '../../../plan/guarded.ts'
import type { PageWindow } from '../../../plan/plan.ts'
import { type Anchor, AnchoredLists, type Anchors, SHALLOW } from '../../anchors.ts'
import { pageAnswer, pageLimit } from '../../lists.ts'
import { positionSql, type Slice } from '../../sql/read.ts'
import { isById } from '../../sql/select.ts'
import { sqlite } from '../../sql/sqlite.ts'
import { arg, type Bind, name, type Sql, slot, sql } from '../../sql/writer.ts'
import type { Inputs, ResultRow, SqlValue } from '../../values.ts'
import { stampOf, type Version } from '../../versions.ts'
import type { Statement } from '../connection.ts'
import type { ReadContext } from '../context.ts'
import { type ListRows, listRows } from './related-rows.ts'
import { totalReader } from './totals.ts'

const SPACING = 500
/** No two anchors are nearer: what they take is bounded by the rows, not by the requests. */
const NEAREST = 100

/** The anchors of a shape's deep pages, wherever these are read. */
export class ShapeAnchors {
  readonly #window: PageWindow
  readonly #lists: AnchoredLists
  readonly #order: readonly Version[]

  constructor(shape: GuardedList, window: PageWindow, context: Pick<ReadContext, 'versions' | 'orders'>) {
    this.#window = window
    this.#lists = new AnchoredLists(shape, window)
    this.#order = orderOf(shape, context)
  }

  /** It stays the same as long as no anchor can have moved. */
  get stamp(): number {
    return stampOf(this.#order)
  }

  of(inputs: Inputs): Anchors {
    return this.#lists.of(inputs, this.stamp)
  }

  /** How many rows a page begins after the nearest anchor; 0 for one that needs none. */
  skipped(inputs: Inputs): number {
    const offset = this.offsetOf(inputs)
    return offset < SHALLOW ? 0 : offset - (this.of(inputs).before(offset)?.offset ?? 0)
  }

  offsetOf({ args }: Inputs): number {
    return Number(args[this.#window.offset])
  }
}

export function pageReader(
  shape: GuardedList,
  window: PageWindow,
  context: ReadContext,
  shapeAnchors: ShapeAnchors,
): (inputs: Inputs) => ListAnswer {
  const offset = arg(window.offset, 'number')
  const size = { rows: pageSize(window), skipped: ({ args }: Inputs) => Number(args[window.offset]) }
  const shallow = listRows(shape, fromStart(window, offset), size, context)
  const total = totalReader(shape, window.total, context)
  let deep: ListRows | undefined
  return inputs => {
    const isDeep = Number(inputs.args[window.offset]) >= SHALLOW
    if (isDeep) deep ??= deepReader(shape, window, context, shapeAnchors)
    const count = total?.(inputs)
    const rows = (isDeep && deep !== undefined ? deep : shallow).all(inputs, count?.total)
    return pageAnswer(rows, count, window, inputs.args)
  }
}

/** How many rows a page is read with. */
function pageSize({ limit, total }: PageWindow): (inputs: Inputs) => number {
  return ({ args }) => Number(args[limit]) + (total === 'exact' ? 0 : 1)
}

export function fromStart(window: PageWindow, offset: Bind): Slice {
  return { after: undefined, limit: pageLimit(window, sqlite), offset, keys: false }
}

/** A page with its keys, by slots: how many rows to skip, then the position of the anchor where there is one. */
export function fromAnchor({ sort }: GuardedList, window: PageWindow, isFirst: boolean): Slice {
  return {
    after: isFirst ? undefined : sort.map((_, index) => slot(index + 1)),
    limit: pageLimit(window, sqlite),
    offset: slot(0),
    keys: true,
  }
}

/** Reads pages from anchors that it remembers while no row before them can have changed. */
function deepReader(
  shape: GuardedList,
  window: PageWindow,
  context: ReadContext,
  shapeAnchors: ShapeAnchors,
): ListRows {
  const statements = anchoredStatements(shape, window, context)
  const walks = isPlain(shape)
  const all = (inputs: Inputs, total?: number) => {
    const anchors = shapeAnchors.of(inputs)
    const offset = shapeAnchors.offsetOf(inputs)
    if (walks) walk(anchors, offset, statements, inputs)
    const from = anchors.before(offset)
    const rows = statements.rows(from).all(withSlots(inputs, offset - (from?.offset ?? 0), from), total)
    remember(anchors, offset, rows)
    return rows
  }
  return { all }
}

/** The versions that tell whether an anchor may have moved. */
function orderOf(
  shape: GuardedList,
  { versions, orders }: Pick<ReadContext, 'versions' | 'orders'>,
): readonly Version[] {
  const ascending = shape.sort[0]?.descending === false
  // New rows come last in the order of ids, and nothing but a deletion takes a row out.
  if (isPlain(shape) && ascending) return [orders.cell(shape.collection.name)]
  return shape.reads.map(collection => versions.cell(collection))
}

export function isPlain(shape: GuardedList): boolean {
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
  const { connection, dialect } = context
  const page = (isFirst: boolean): Slice => fromAnchor(shape, window, isFirst)
  const prepare = (fragment: Sql) => connection.prepare(fragment)
  const size = { rows: pageSize(window), skipped: ({ slots }: Inputs) => Number(slots[0]) }
  const first = listRows(shape, page(true), size, context)
  const later = listRows(shape, page(false), size, context)
  const firstPosition = prepare(positionSql(shape, { ...page(true), limit: ['1'] }, dialect))
  const laterPosition = prepare(positionSql(shape, { ...page(false), limit: ['1'] }, dialect))
  return {
    rows: from => (from === undefined ? first : later),
    position: from => (from === undefined ? firstPosition : laterPosition),
  }
}

export function withSlots(inputs: Inputs, offset: number, from: Anchor | undefined): Inputs {
  return { ...inputs, slots: [offset, ...(from?.position ?? [])] }
}

/**
 * The anchors on the way to a page of a plain list, as offset and id, in one statement: a process is asked once. Slots:
 * the offset and the id of the anchor to begin at, 0 for the start, and the offset of the page.
 */
export function anchorsSql({ collection, sort }: GuardedList): Sql {
  const table = name(collection.name)
  const spacing: Sql = [String(SPACING)]
  const order: Sql = [sort[0]?.descending ? ' DESC' : '']
  const beyond: Sql = [sort[0]?.descending ? '<' : '>']
  const next = (conditions: Sql) =>
    sql`(SELECT "id" FROM ${table}${conditions} ORDER BY "id"${order} LIMIT 1 OFFSET ${spacing} - 1)`
  const isStart = sql`${slot(0)} = 0`
  const first = sql`CASE WHEN ${isStart} THEN ${next([])} ELSE ${next(sql` WHERE "id" ${beyond} ${slot(1)}`)} END`
  const later = next(sql` WHERE "id" ${beyond} "way"."at"`)
  const walk = sql`SELECT ${slot(0)} + ${spacing}, ${first} UNION ALL SELECT "n" + ${spacing}, ${later} FROM "way" WHERE "at" IS NOT NULL AND "n" + ${spacing} <= ${slot(2)}`
  return sql`WITH RECURSIVE "way"("n", "at") AS (${walk}) SELECT "n", "at" FROM "way" WHERE "at" IS NOT NULL`
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

/** Remembers where a page ends. `rows`: with their keys. */
export function remember(anchors: Anchors, offset: number, rows: readonly ResultRow[]): void {
  const last = rows.at(-1)
  const after = offset + rows.length
  if (last === undefined || after - (anchors.before(after)?.offset ?? 0) < NEAREST) return
  const position: readonly SqlValue[] = last.slice(1)
  anchors.add({ offset: after, position })
}
