/** The slow lists that were found, bounded in number: the cheapest are dropped first. */
import type { Finding } from './look.ts'

/** A list that scans at least this many rows is slow if it returns far fewer. */
export const slowRows = 1000
/** From this many scanned rows on, the operator is warned. */
export const warnRows = 10_000
/** A list may scan this many times the rows that it returns. */
const fairFactor = 5
const maxKept = 500
/** Shapes whose runs one entry adds up: the shapes of different callers read the same in words. */
const maxShapes = 50

/** A list that scans many more rows than it returns. */
export interface SlowList {
  /** E.g. `GET /posts?status=…&sort=-created_at`. */
  readonly request: string
  /** The estimated rows that each run scans. */
  readonly looked: number
  /** How many rows it returned when it was examined, or the most that it can return. */
  readonly given: number
  /** What the plan does, e.g. `sorts about 100000 posts`. */
  readonly does: string
  /** The indexes that the plan uses. */
  readonly indexes: readonly string[]
  /** What to declare, e.g. `index('status', '-created_at')`; undefined where no index helps. */
  readonly index: string | undefined
  /** What to do, in sentences. */
  readonly advice: string
  readonly isRefused: boolean
}

/** A slow list, and how often it ran since it was last taken. */
export interface SlowRuns extends SlowList {
  readonly runs: number
}

/** Whether a list scans many rows, and many times as many as it returns. */
export function isSlow({ looked, asked }: Finding): boolean {
  return looked >= slowRows && looked >= fairFactor * asked
}

interface Counter {
  readonly runs: number
}

interface Entry {
  slow: SlowList
  readonly shapes: Map<Counter, number>
  /** Refused runs, and examined runs of deep pages: other pages of their shapes are fast. */
  extra: number
}

export class SlowLists {
  readonly #entries = new Map<string, Entry>()

  /** Returns the list if it was not known to be slow before. `isRefused`: it did not run. */
  note(finding: Finding, transport: string, shape: Counter, isRefused = false): SlowList | undefined {
    const { words, looked } = finding
    if (!isRefused && !isSlow(finding)) return undefined
    const slow = slowList(finding, `${transport} ${words}`, isRefused)
    const key = `${slow.request} ${slow.index ?? ''}`
    const known = this.#entries.get(key)
    const entry = known ?? { slow, shapes: new Map(), extra: 0 }
    if (isRefused || finding.isDeep) entry.extra++
    else this.#count(entry, shape)
    if (known === undefined) return this.#add(key, entry) ? slow : undefined
    if (looked > known.slow.looked) known.slow = slow
    return undefined
  }

  #count({ shapes }: Entry, shape: Counter): void {
    // The examined run counts.
    if (!shapes.has(shape) && shapes.size < maxShapes) shapes.set(shape, Math.max(0, shape.runs - 1))
  }

  #add(key: string, entry: Entry): boolean {
    if (this.#entries.size >= maxKept) {
      const [cheapest, least] = [...this.#entries].reduce((a, b) => (costOf(b[1]) < costOf(a[1]) ? b : a))
      if (costOf(least) >= costOf(entry)) return false
      this.#entries.delete(cheapest)
    }
    this.#entries.set(key, entry)
    return true
  }

  /** The slow lists that ran since the last call. */
  take(): readonly SlowRuns[] {
    const taken: SlowRuns[] = []
    for (const entry of this.#entries.values()) {
      const runs = runsOf(entry)
      if (runs === 0) continue
      taken.push({ ...entry.slow, runs })
      entry.extra = 0
      for (const shape of entry.shapes.keys()) entry.shapes.set(shape, shape.runs)
    }
    return taken
  }
}

function runsOf({ shapes, extra }: Entry): number {
  let runs = extra
  for (const [shape, before] of shapes) runs += shape.runs - before
  return runs
}

function costOf(entry: Entry): number {
  return entry.slow.looked * Math.max(1, runsOf(entry))
}

function slowList(finding: Finding, request: string, isRefused: boolean): SlowList {
  const { looked, given, does, indexes, advice } = finding
  return {
    request,
    looked,
    given,
    does,
    indexes,
    index: advice.find(each => each.index !== undefined)?.index,
    advice: advice.map(({ sentence }) => sentence).join(' '),
    isRefused,
  }
}
