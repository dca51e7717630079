/**
 * What is cached of a list while nothing in it changes: its total, and anchors, which are the positions (sort keys) of
 * rows at some offsets. A deep page starts at the nearest anchor before it instead of skipping all rows from the first.
 */
import { Cache, CacheBound } from '../../../base/cache.ts'
import type { GuardedList } from '../../plan/guarded.ts'
import type { PageWindow } from '../../plan/plan.ts'
import { isById } from '../sql/select.ts'
import type { Inputs, SqlValue } from '../values.ts'
import { stampOf, type Version, type Versions } from '../versions.ts'
import type { Total } from './lists.ts'

/** Below this offset, skipping rows is as cheap as starting at an anchor. */
export const shallowRows = 200
/** The minimum distance between two anchors: a page of the default size, since PostgreSQL is slow to skip rows. */
const minAnchorDistance = 20
/** A list with at most so many items fits on the largest page: no other page needs its total. */
const maxUncachedTotal = 100
/** The maximum number of anchors per list. When it is reached, every second anchor is dropped. */
const maxAnchors = 10_000
/** How long an estimated total is used again, whatever changes meanwhile. */
const estimateMs = 10_000
const listBytes = 400
const anchorBytes = 150

export interface Anchor {
  /** How many rows precede this position, its own row included. */
  readonly offset: number
  readonly position: readonly SqlValue[]
}

/** Sorted by offset. */
export class Anchors {
  #anchors: Anchor[] = []

  get size(): number {
    return this.#anchors.length
  }

  /** The last anchor at or before `offset`. */
  before(offset: number): Anchor | undefined {
    return this.#anchors[this.#index(offset + 1) - 1]
  }

  add(anchor: Anchor): void {
    if (this.size >= maxAnchors) this.#anchors = this.#anchors.filter((_, index) => index % 2 === 1)
    const index = this.#index(anchor.offset)
    if (this.#anchors[index]?.offset === anchor.offset) this.#anchors[index] = anchor
    else this.#anchors.splice(index, 0, anchor)
  }

  /** The first index whose anchor has at least this offset. */
  #index(offset: number): number {
    let low = 0
    let high = this.#anchors.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#anchors[middle]?.offset ?? 0) < offset) low = middle + 1
      else high = middle
    }
    return low
  }
}

export interface CachedList {
  readonly anchors: Anchors
  total: Total | undefined
}

interface KeptEstimate {
  readonly total: Total
  /** By `performance.now()`. */
  readonly until: number
}

export interface ListCacheOptions {
  readonly bound: CacheBound
  readonly versions: Versions
  /** Versions that do not increase while rows are only added at the end or changed in place. */
  readonly orders?: Versions | undefined
  /** Whether totals are cached, too. */
  readonly keepsTotals: boolean
  /** Whether nothing is shared between the lists of different users, whatever the shape says. */
  readonly isPersonal?: boolean
}

/** The maximum memory for anchors and totals, in bytes. */
const memoryBytes = 8 * 1024 * 1024

export function listCacheOptions(memory: Omit<ListCacheOptions, 'bound'>): ListCacheOptions {
  return { ...memory, bound: new CacheBound('lists', memoryBytes) }
}

/** The lists of one shape, by arguments and users. */
export class ListCache {
  readonly #window: PageWindow
  readonly #lists: Cache<string, CachedList>
  readonly #estimates: Cache<string, KeptEstimate>
  readonly #versions: readonly Version[]
  readonly #isPersonal: boolean
  /** Whether totals are cached. Only counted totals are. */
  readonly keepsTotals: boolean
  readonly keepsEstimates: boolean
  /** Whether one statement finds the anchors on the way to a page of a whole collection. */
  readonly findsAnchors: boolean

  constructor(shape: GuardedList, window: PageWindow, memory: ListCacheOptions) {
    this.#window = window
    this.#lists = new Cache(memory.bound)
    this.#estimates = new Cache(memory.bound)
    this.#versions = versionsOf(shape, memory)
    this.#isPersonal = shape.personal || memory.isPersonal === true
    this.findsAnchors = memory.orders !== undefined
    this.keepsTotals = memory.keepsTotals && isCounted(shape)
    this.keepsEstimates = window.total === 'estimate' && isCounted(shape)
  }

  /** It stays the same as long as everything cached is valid. */
  get stamp(): number {
    return stampOf(this.#versions)
  }

  /** The key of a list, the same for all its pages. */
  keyOf({ args, userId }: Inputs): string {
    // The only arguments are offset and limit.
    if (args.length === 2 && !this.#isPersonal) return ''
    const { offset, limit } = this.#window
    const others = args.map((value, index) => (index === offset || index === limit ? null : value))
    return JSON.stringify(this.#isPersonal ? [userId, others] : others)
  }

  get(key: string, stamp: number): CachedList | undefined {
    return this.#lists.get(key, stamp)
  }

  /** How many rows are skipped from the nearest anchor to the page; 0 for a page that needs no anchor. */
  skipped(inputs: Inputs): number {
    const offset = this.offsetOf(inputs)
    if (offset < shallowRows) return 0
    return offset - (this.#lists.peek(this.keyOf(inputs), this.stamp)?.anchors.before(offset)?.offset ?? 0)
  }

  offsetOf({ args }: Inputs): number {
    return Number(args[this.#window.offset])
  }

  /** An estimate of at most `estimateMs` ago. */
  estimate(key: string): Total | undefined {
    if (!this.keepsEstimates) return undefined
    const kept = this.#estimates.get(key)
    return kept !== undefined && performance.now() < kept.until ? kept.total : undefined
  }

  addEstimate(key: string, total: Total): void {
    if (!this.keepsEstimates) return
    const until = performance.now() + estimateMs
    this.#estimates.set(key, { total, until }, listBytes + 2 * key.length)
  }

  addTotal(key: string, stamp: number, total: Total): void {
    if (this.keepsTotals && total.total > maxUncachedTotal) this.#list(key, stamp).total = total
  }

  /** `row`: the text and the sort keys of the row before the offset. */
  addAnchor(key: string, stamp: number, offset: number, row: readonly SqlValue[] | undefined): void {
    if (row === undefined) return
    const { anchors } = this.#list(key, stamp)
    const before = anchors.before(offset)?.offset ?? 0
    if (offset - before < minAnchorDistance) return
    anchors.add({ offset, position: row.slice(1) })
    this.#lists.grow(key, anchorBytes)
  }

  #list(key: string, stamp: number): CachedList {
    const cached = this.#lists.peek(key, stamp)
    if (cached !== undefined) return cached
    const list = { anchors: new Anchors(), total: undefined }
    // The result of a read that began before a change does not replace a newer one.
    if (stamp === this.stamp) this.#lists.set(key, list, listBytes + 2 * key.length, stamp)
    return list
  }
}

/**
 * Caches nothing: for reads within a transaction, which see uncommitted rows, and for reads that depend on the time.
 */
export class NoListCache extends ListCache {
  override get(): undefined {}

  override estimate(): undefined {}

  override addEstimate(): void {}

  override addTotal(): void {}

  override addAnchor(): void {}
}

/** The cache for the lists of one shape. */
export function listCacheOf(shape: GuardedList, window: PageWindow, memory: ListCacheOptions): ListCache {
  return shape.volatile ? new NoListCache(shape, window, memory) : new ListCache(shape, window, memory)
}

/** The versions that increase when a row of the list may have moved. */
function versionsOf(shape: GuardedList, { versions, orders }: ListCacheOptions): readonly Version[] {
  const ascending = shape.sort[0]?.descending === false
  // In the order of ids new rows come last, and only deletions move rows.
  if (orders !== undefined && isWholeById(shape) && ascending) return [orders.cell(shape.collection.name)]
  return shape.reads.map(collection => versions.cell(collection))
}

/** Whether the list is a whole collection in the order of ids. */
export function isWholeById(shape: GuardedList): boolean {
  return isById(shape) && isWhole(shape)
}

function isWhole({ rows, within }: GuardedList): boolean {
  return rows.kind === 'always' && within === undefined
}

/** Whether the total is counted, instead of read from the totals of collections. */
export function isCounted(shape: GuardedList): boolean {
  return shape.window.kind === 'page' && shape.window.total !== 'none' && !isWhole(shape)
}
