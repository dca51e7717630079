/** The slow lists that were found. Their number is limited: the cheapest are evicted first. */
import type { Finding } from './findings.ts'

/** A list that scans at least this many rows is slow, unless it returns most of them. */
export const slowRows = 1000
/** A list that scans at least this many rows is logged as a warning. */
export const warnRows = 10_000
/** A list that scans fewer than this many rows for each row that it may return is not slow. */
const allowedScanFactor = 5
const maxLists = 500
/** The maximum number of shapes of one list: its requests by different callers have different shapes. */
const maxShapes = 50

/** A list that scans many more rows than it returns. */
export interface SlowList {
  /** E.g. `GET /posts?status=…&sort=-created_at`. */
  readonly request: string
  /** The estimated number of rows that each run scans. */
  readonly scannedRows: number
  /** The number of rows that it returned when it was examined, or its limit. */
  readonly returnedRows: number
  /** A summary of the plan, e.g. `sorts about 100000 posts`. */
  readonly summary: string
  /** The indexes that the plan uses. */
  readonly indexes: readonly string[]
  /** The index to declare, e.g. `index('status', '-created_at')`; undefined if none helps. */
  readonly index: string | undefined
  /** Sentences. */
  readonly advice: string
  readonly isRefused: boolean
}

/** A slow list, and the number of its runs since the last `take`. */
export interface SlowRuns extends SlowList {
  readonly runs: number
}

/** Whether a list scans many rows, and many for each row that it may return. */
export function isSlow({ scannedRows, limit }: Finding): boolean {
  return scannedRows >= slowRows && scannedRows >= allowedScanFactor * limit
}

interface RunCounter {
  readonly runs: number
}

interface SlowListEntry {
  slow: SlowList
  readonly shapes: Map<RunCounter, number>
  /** Runs that are not in `shapes`: refused ones, and those of deep pages, since other pages of their shapes are fast. */
  otherRuns: number
}

export class SlowLists {
  readonly #entries = new Map<string, SlowListEntry>()

  /** Returns the list if this is its first entry. `isRefused`: it did not run. */
  record(finding: Finding, transport: string, shape: RunCounter, isRefused = false): SlowList | undefined {
    const { path, scannedRows } = finding
    if (!isRefused && !isSlow(finding)) return undefined
    const slow = slowList(finding, `${transport} ${path}`, isRefused)
    const key = `${slow.request} ${slow.index ?? ''}`
    const existing = this.#entries.get(key)
    const entry = existing ?? { slow, shapes: new Map(), otherRuns: 0 }
    if (isRefused || finding.isDeep) entry.otherRuns++
    else this.#count(entry, shape)
    if (existing === undefined) return this.#add(key, entry) ? slow : undefined
    if (scannedRows > existing.slow.scannedRows) existing.slow = slow
    return undefined
  }

  #count({ shapes }: SlowListEntry, shape: RunCounter): void {
    // Only runs from the examined one on count.
    if (!shapes.has(shape) && shapes.size < maxShapes) shapes.set(shape, Math.max(0, shape.runs - 1))
  }

  #add(key: string, entry: SlowListEntry): boolean {
    if (this.#entries.size >= maxLists) {
      const [cheapest, cheapestEntry] = [...this.#entries].reduce((a, b) =>
        costOf(b[1]) < costOf(a[1]) ? b : a,
      )
      if (costOf(cheapestEntry) >= costOf(entry)) return false
      this.#entries.delete(cheapest)
    }
    this.#entries.set(key, entry)
    return true
  }

  /** The slow lists that ran since the last call. */
  take(): readonly SlowRuns[] {
    const slowRuns: SlowRuns[] = []
    for (const entry of this.#entries.values()) {
      const runs = runsOf(entry)
      if (runs === 0) continue
      slowRuns.push({ ...entry.slow, runs })
      entry.otherRuns = 0
      for (const shape of entry.shapes.keys()) entry.shapes.set(shape, shape.runs)
    }
    return slowRuns
  }
}

function runsOf({ shapes, otherRuns }: SlowListEntry): number {
  let runs = otherRuns
  for (const [shape, countedRuns] of shapes) runs += shape.runs - countedRuns
  return runs
}

function costOf(entry: SlowListEntry): number {
  return entry.slow.scannedRows * Math.max(1, runsOf(entry))
}

function slowList(finding: Finding, request: string, isRefused: boolean): SlowList {
  const { scannedRows, returnedRows, summary, indexes, advice } = finding
  return {
    request,
    scannedRows,
    returnedRows,
    summary,
    indexes,
    index: advice.find(entry => entry.index !== undefined)?.index,
    advice: advice.map(({ sentence }) => sentence).join(' '),
    isRefused,
  }
}
