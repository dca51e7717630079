/** Slow lists: logged once each, and kept in the database, where `portico explain-queries` reads them. */
import { hash } from 'node:crypto'
import type { Logger } from '../log.ts'
import type { NewRecord, Records, StoredRecord } from '../records.ts'
import { type SlowList, type SlowRuns, warnRows } from '../store/advice/slow.ts'
import type { QueryInsight } from '../store/store.ts'

const kind = 'SlowList'
/** Of all nodes together. */
const maxStored = 500
const intervalMs = 60_000
const keptMs = 7 * 24 * 60 * 60 * 1000
/** Other nodes write the same rows. */
const maxTries = 5

/** A slow list as all nodes have seen it. */
export interface StoredList {
  readonly request: string
  /** How often it asked the database. */
  readonly runs: number
  /** Rows looked at each time, and rows given, when it looked at most. */
  readonly looked: number
  readonly given: number
  readonly does: string
  readonly indexes: readonly string[]
  readonly index: string | undefined
  readonly advice: string
  /** ISO 8601 UTC. */
  readonly firstAt: string
  readonly lastAt: string
}

/** Tells of a slow list, in a line of the log. No value of a request is in it. */
export function slowIn(logger: Logger): (slow: SlowList) => void {
  return ({ request, looked, given, indexes, does, advice, isRefused }) => {
    const about = { request, rows_looked_at: looked, rows_given: given, indexes }
    const level = isRefused || looked >= warnRows ? 'warn' : 'info'
    const refused = isRefused ? ', more than PORTICO_MAX_SCAN allows: it is refused' : ''
    logger[level](about, `slow list: it ${does}${refused}. ${advice}`)
  }
}

/** By cost, the most expensive first. */
export async function storedLists(records: Pick<Records, 'all'>): Promise<readonly StoredList[]> {
  const found = await records.all(kind)
  return found
    .flatMap(({ payload }) => parsed(payload) ?? [])
    .sort((one, other) => costOf(other) - costOf(one))
}

function costOf({ runs, looked }: StoredList): number {
  return runs * looked
}

/** Undefined for what another version wrote. */
function parsed(payload: string): StoredList | undefined {
  const value: Partial<StoredList> = JSON.parse(payload)
  return typeof value.request === 'string' && typeof value.runs === 'number'
    ? (value as StoredList)
    : undefined
}

type Kept = Pick<Records, 'get' | 'add' | 'swap' | 'put' | 'all' | 'delete'>

interface KeeperParts {
  readonly insight: QueryInsight
  readonly records: Kept
  /** The time, in milliseconds since 1970. */
  readonly now?: () => number
}

/** Stores what ran, at most once a minute and at the end; nothing while nothing slow runs. */
export class SlowKeeper {
  readonly #insight: QueryInsight
  readonly #records: Kept
  readonly #now: () => number
  readonly #timer: NodeJS.Timeout

  constructor({ insight, records, now = Date.now }: KeeperParts) {
    this.#insight = insight
    this.#records = records
    this.#now = now
    this.#timer = setInterval(() => void this.flush(), intervalMs).unref()
  }

  /** Never rejects: a database that is away costs these figures only. */
  async flush(): Promise<void> {
    try {
      for (const slow of this.#insight.takeSlow()) await this.#add(slow)
    } catch {
      // What is slow runs again.
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #add(slow: SlowRuns): Promise<void> {
    const id = hash('sha256', `${slow.request} ${slow.index ?? ''}`, 'base64url')
    for (let tries = 0; tries < maxTries; tries++) {
      const stored = await this.#records.get(kind, id)
      if (stored === undefined ? await this.#create(id, slow) : await this.#addTo(stored, slow)) return
    }
  }

  async #create(id: string, slow: SlowRuns): Promise<boolean> {
    const at = new Date(this.#now()).toISOString()
    const made = merged({ ...slow, runs: 0, firstAt: at, lastAt: at }, slow, at)
    if (!(await this.#makeRoom(made))) return true
    return this.#records.add(this.#record(id, made))
  }

  async #addTo(stored: StoredRecord, slow: SlowRuns): Promise<boolean> {
    const before = parsed(stored.payload)
    const at = new Date(this.#now()).toISOString()
    const made = merged(before ?? { ...slow, runs: 0, firstAt: at, lastAt: at }, slow, at)
    // A swap leaves the end where it is.
    if (before === undefined || Number(stored.expiresAt) - this.#now() < keptMs / 2) {
      await this.#records.put(this.#record(stored.id, made))
      return true
    }
    return this.#records.swap(stored, stored.payload, JSON.stringify(made))
  }

  #record(id: string, list: StoredList): NewRecord {
    return { kind, id, payload: JSON.stringify(list), expiresAt: this.#now() + keptMs }
  }

  /** The cheapest gives way; false where that would be the new one. */
  async #makeRoom(made: StoredList): Promise<boolean> {
    const all = await this.#records.all(kind)
    if (all.length < maxStored) return true
    const costs = all.map(({ id, payload }) => ({
      id,
      cost: costOf(parsed(payload) ?? { ...made, runs: 0 }),
    }))
    const least = costs.reduce((one, other) => (other.cost < one.cost ? other : one))
    if (least.cost >= costOf(made)) return false
    await this.#records.delete(kind, least.id)
    return true
  }
}

function merged(before: StoredList, slow: SlowRuns, at: string): StoredList {
  const { request, index, advice } = slow
  const { looked, given, does, indexes } = slow.looked >= before.looked ? slow : before
  const runs = before.runs + slow.runs
  return { request, runs, looked, given, does, indexes, index, advice, firstAt: before.firstAt, lastAt: at }
}
