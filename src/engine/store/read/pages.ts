/** Pages by number. Beyond the first few hundred rows they start at a cached anchor. */
import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { ListAnswer } from '../../plan/answer.ts'
import type { GuardedList } from '../../plan/guarded.ts'
import type { PageWindow } from '../../plan/plan.ts'
import { anchorSpacing, anchorsSql } from '../sql/anchors.ts'
import type { Dialect } from '../sql/dialect.ts'
import { estimated, estimateSql } from '../sql/estimate.ts'
import { countSql, type Slice } from '../sql/read.ts'
import { arg, type Bind, slot, sql } from '../sql/writer.ts'
import { type Inputs, noSlots, type ResultRow, type SqlValue } from '../values.ts'
import type { CountQuery, ListRows, Snapshot, Statements } from './database.ts'
import { type CachedList, isCounted, isWholeById, type ListCache, shallowRows } from './list-cache.ts'
import { absent, counted, pageAnswer, pageLimit, type Total } from './lists.ts'

type BindQuery<Q> = (inputs: Inputs) => Q

interface PagesParts<Q> {
  readonly shape: GuardedList
  readonly window: PageWindow
  readonly statements: Statements<Q>
  readonly parent: BindQuery<Q> | undefined
  readonly lists: ListCache
}

/** A requested page. */
interface PageRequest<Q> {
  readonly inputs: Inputs
  readonly snapshot: Snapshot<Q>
  readonly offset: number
  /** The key of its list, and the stamp at the time of the request. */
  readonly key: string
  readonly stamp: number
}

interface DeepQueries<Q> {
  /** From the start of the list: the page, and the row before it, whose keys are an anchor for this page. */
  readonly first: BindQuery<Q>
  /** From an anchor. */
  readonly later: BindQuery<Q>
  /** The anchors before the page, if one statement finds them. */
  readonly anchors: BindQuery<Q> | undefined
}

export class Pages<Q> {
  readonly #parts: PagesParts<Q>
  readonly #count: ((inputs: Inputs) => CountQuery<Q>) | undefined
  readonly #first: BindQuery<Q>
  #shallow: BindQuery<Q> | undefined
  #deep: DeepQueries<Q> | undefined

  constructor(parts: PagesParts<Q>) {
    const { shape, window, statements } = parts
    this.#parts = parts
    this.#count = countOf(shape, window, statements)
    this.#first = shallowQuery(parts, undefined)
  }

  read(inputs: Inputs, snapshot: Snapshot<Q>): Awaitable<ListAnswer> {
    const { lists } = this.#parts
    const offset = lists.offsetOf(inputs)
    const isDeep = offset >= shallowRows
    const usesCache = isDeep || lists.keepsTotals || lists.keepsEstimates
    const key = usesCache ? lists.keyOf(inputs) : ''
    const page = { inputs, snapshot, offset, key, stamp: usesCache ? lists.stamp : 0 }
    if (!isDeep) return this.#readShallow(page, this.#total(page))
    return then(this.#findAnchors(page), () => this.#readDeep(page, lists.get(key, page.stamp)))
  }

  /** The cached total of the page's list. */
  #total({ key, stamp }: PageRequest<Q>): Total | undefined {
    const { lists } = this.#parts
    const total = lists.keepsTotals ? lists.get(key, stamp)?.total : undefined
    return total ?? lists.estimate(key)
  }

  /** `total`: if known. */
  #readShallow(page: PageRequest<Q>, total: Total | undefined): Awaitable<ListAnswer> {
    const query = page.offset === 0 ? this.#first : this.#shallowQuery()
    const { lists, window } = this.#parts
    const result = this.#ask(page, query, noSlots, total, lists.keepsTotals)
    return then(result, list => {
      if (list.rows === undefined) return absent(window)
      const isNewer = lists.keepsTotals && this.#isNewer(page, list)
      if (isNewer && total?.isEstimate === false) return this.#readShallow(page, undefined)
      return this.#answer(page, list, list.rows, total, isNewer)
    })
  }

  /** `cached`: the anchors and the total that are cached. */
  #readDeep(page: PageRequest<Q>, cached: CachedList | undefined): Awaitable<ListAnswer> {
    const { offset, key, stamp } = page
    const { lists } = this.#parts
    const anchor = cached?.anchors.before(offset)
    const total = cached?.total ?? lists.estimate(key)
    const { first, later } = this.#deepQueries()
    const query = anchor === undefined ? first : later
    const slots = anchor === undefined ? [offset - 1] : [offset - anchor.offset, ...anchor.position]
    return then(this.#ask(page, query, slots, total, true), list => {
      if (list.rows === undefined) return absent(this.#parts.window)
      const isNewer = this.#isNewer(page, list)
      // A row before the anchor may have moved: then these rows belong to another page.
      const isOutdated = anchor !== undefined || total?.isEstimate === false
      if (isNewer && isOutdated) return this.#readDeep(page, undefined)
      const pageRows = anchor === undefined ? list.rows.slice(1) : list.rows
      if (!isNewer) {
        if (anchor === undefined) lists.addAnchor(key, stamp, offset, list.rows[0])
        lists.addAnchor(key, stamp, offset + pageRows.length, pageRows.at(-1))
      }
      return this.#answer(page, list, pageRows, total, isNewer)
    })
  }

  /** Finds the anchors before a page that is far from all known ones. */
  #findAnchors(page: PageRequest<Q>): Awaitable<void> {
    const { inputs, offset, key, stamp, snapshot } = page
    const { lists } = this.#parts
    const { anchors } = this.#deepQueries()
    if (anchors === undefined) return
    const anchor = lists.get(key, stamp)?.anchors.before(offset)
    if (offset - (anchor?.offset ?? 0) <= anchorSpacing) return
    const slots = [anchor?.offset ?? 0, anchor?.position[0] ?? 0, offset]
    const result = snapshot.list({ rows: anchors({ ...inputs, slots }), isChecked: true })
    return then(result, list => {
      if (this.#isNewer(page, list)) return
      for (const [rowOffset, id = null] of list.rows ?? [])
        lists.addAnchor(key, stamp, Number(rowOffset), [null, id])
    })
  }

  /** `total`: if known. */
  #ask(
    { inputs, snapshot }: PageRequest<Q>,
    query: BindQuery<Q>,
    slots: readonly SqlValue[],
    total: Total | undefined,
    isChecked: boolean,
  ): Awaitable<ListRows> {
    const rows = query({ ...inputs, slots, total: total?.total })
    const parent = this.#parts.parent?.(inputs)
    const count = total === undefined ? this.#count?.(inputs) : undefined
    return snapshot.list({ rows, parent, count, isChecked })
  }

  /** Whether what is cached of the list may be wrong for the snapshot that was read. */
  #isNewer({ stamp }: PageRequest<Q>, list: ListRows): boolean {
    return list.isNewer(() => this.#parts.lists.stamp === stamp)
  }

  #answer(
    { inputs, key, stamp }: PageRequest<Q>,
    { count }: ListRows,
    rows: readonly ResultRow[],
    knownTotal: Total | undefined,
    isNewer: boolean,
  ): ListAnswer {
    const { window, lists } = this.#parts
    if (count?.isEstimate) lists.addEstimate(key, count)
    else if (count !== undefined && !isNewer) lists.addTotal(key, stamp, count)
    return pageAnswer(rows, knownTotal ?? count, window, inputs.args)
  }

  #shallowQuery(): BindQuery<Q> {
    this.#shallow ??= shallowQuery(this.#parts, arg(this.#parts.window.offset))
    return this.#shallow
  }

  #deepQueries(): DeepQueries<Q> {
    this.#deep ??= deepQueries(this.#parts)
    return this.#deep
  }
}

/** Undefined if no total is requested. */
function countOf<Q>(
  shape: GuardedList,
  { total }: PageWindow,
  statements: Statements<Q>,
): ((inputs: Inputs) => CountQuery<Q>) | undefined {
  if (total === 'none') return undefined
  const isWhole = !isCounted(shape)
  const isExact = isWhole || total === 'exact'
  const query = isWhole
    ? statements.whole(shape.collection.name)
    : statements.count(shape, isExact ? countSql : estimateSql)
  const of = isExact ? counted : estimated
  return inputs => ({ query: query(inputs), of })
}

function shallowQuery<Q>(
  { shape, window, statements }: PagesParts<Q>,
  offset: Bind | undefined,
): BindQuery<Q> {
  const size = { rows: pageSize(window), skipped: ({ args }: Inputs) => Number(args[window.offset]) }
  return statements.slice(shape, dialect => fromStart(window, offset, dialect), size)
}

function deepQueries<Q>({ shape, window, statements, lists }: PagesParts<Q>): DeepQueries<Q> {
  const position = shape.sort.map((_, index) => slot(index + 1))
  const skipped = ({ slots }: Inputs) => Number(slots[0])
  const rows = pageSize(window)
  const slice = (after: Slice['after'], before: number) =>
    statements.slice(
      shape,
      dialect => {
        const limit = pageLimit(window, dialect)
        return { after, limit: before > 0 ? sql`${limit} + 1` : limit, offset: slot(0), keys: true }
      },
      { rows: inputs => rows(inputs) + before, skipped },
    )
  return {
    first: slice(undefined, 1),
    later: slice(position, 0),
    anchors:
      lists.findsAnchors && isWholeById(shape) ? statements.prepare(() => anchorsSql(shape)) : undefined,
  }
}

/** The number of rows to read for a page: see `pageLimit`. */
function pageSize({ limit, total }: PageWindow): (inputs: Inputs) => number {
  return ({ args }) => Number(args[limit]) + (total === 'exact' ? 0 : 1)
}

export function fromStart(window: PageWindow, offset: Bind | undefined, dialect: Dialect): Slice {
  return { after: undefined, limit: pageLimit(window, dialect), offset, keys: false }
}
