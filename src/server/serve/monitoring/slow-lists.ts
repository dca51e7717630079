/** Slow lists: each is logged once, and stored in the database for `portico explain-queries`. */

import { hash } from 'node:crypto'
import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { NewRecord, Records, StoredRecord } from '../../../base/records.ts'
import { type SlowList, type SlowRuns, warnRows } from '../../../engine/store/advice/slow-lists.ts'
import type { QueryInsight } from '../../../engine/store/store.ts'
import type { Logger } from '../../observability/log.ts'

const recordKind = 'SlowList'
/** The maximum number of records, of all nodes together. */
const maxStored = 500
const intervalMs = 60_000
const retentionMs = 7 * 24 * 60 * 60 * 1000
/** A failed swap is retried, since other nodes write the same records. */
const maxTries = 5

/** A slow list of all nodes. `looked` and `given` are those of the run that scanned the most rows. */
export interface StoredList extends Omit<SlowRuns, 'isRefused'> {
  /** ISO 8601 UTC. */
  readonly firstAt: string
  readonly lastAt: string
}

/** Logs a slow list, without any value of a request. */
export function logSlowList(logger: Logger): (slow: SlowList) => void {
  return ({ request, scannedRows, returnedRows, indexes, summary, advice, isRefused }) => {
    const fields = { request, rows_scanned: scannedRows, rows_returned: returnedRows, indexes }
    const level = isRefused || scannedRows >= warnRows ? 'warn' : 'info'
    const refused = isRefused ? ', more than PORTICO_MAX_SCAN allows: it is refused' : ''
    logger[level](fields, `slow list: it ${summary}${refused}. ${advice}`)
  }
}

/** The stored lists, the most expensive first. */
export async function storedLists(records: Pick<Records, 'all'>): Promise<readonly StoredList[]> {
  const stored = await records.all(recordKind)
  return stored.map(({ payload }) => listIn(payload)).sort((a, b) => costOf(b) - costOf(a))
}

function costOf({ runs, scannedRows }: Pick<StoredList, 'runs' | 'scannedRows'>): number {
  return runs * scannedRows
}

function listIn(payload: string): StoredList {
  return JSON.parse(payload)
}

type SlowListRecords = Pick<Records, 'get' | 'add' | 'swap' | 'put' | 'all' | 'delete'>

interface RecorderParts {
  readonly insight: QueryInsight
  readonly records: SlowListRecords
  readonly now?: () => EpochMs
}

/** Stores slow lists once a minute and at the end, if there are any. */
export class SlowListRecorder {
  readonly #insight: QueryInsight
  readonly #records: SlowListRecords
  readonly #now: () => number
  readonly #timer: NodeJS.Timeout

  constructor({ insight, records, now = Date.now }: RecorderParts) {
    this.#insight = insight
    this.#records = records
    this.#now = now
    this.#timer = setInterval(() => void this.flush(), intervalMs).unref()
  }

  /** Never rejects: if the database is unavailable, only these counts are lost. */
  async flush(): Promise<void> {
    const slowRuns = this.#insight.takeSlow()
    if (slowRuns.length === 0) return
    try {
      const stored = await this.#records.all(recordKind)
      const storedIds = new Set(stored.map(({ id }) => id))
      const fresh = slowRuns.filter(slow => !storedIds.has(idOf(slow)))
      const { added, removed } = this.#select(stored, fresh)
      // Concurrently, so that they share commits.
      await Promise.all([
        ...removed.map(id => this.#records.delete(recordKind, id)),
        ...slowRuns.filter(slow => storedIds.has(idOf(slow)) || added.has(slow)).map(slow => this.#add(slow)),
      ])
    } catch {
      // A slow list runs again, and is counted then.
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  /** Keeps the most expensive of the stored and the new ones. */
  #select(stored: readonly StoredRecord[], fresh: readonly SlowRuns[]) {
    const all = [
      ...stored.map(({ id, payload }) => ({
        id,
        slow: undefined,
        cost: costOf(listIn(payload)),
      })),
      ...fresh.map(slow => ({ id: idOf(slow), slow, cost: costOf(slow) })),
    ].sort((a, b) => b.cost - a.cost)
    const added = new Set(all.slice(0, maxStored).flatMap(({ slow }) => slow ?? []))
    const removed = all.slice(maxStored).flatMap(({ id, slow }) => (slow === undefined ? [id] : []))
    return { added, removed }
  }

  async #add(slow: SlowRuns): Promise<void> {
    const id = idOf(slow)
    for (let tries = 0; tries < maxTries; tries++) {
      const stored = await this.#records.get(recordKind, id)
      const time = new Date(this.#now()).toISOString()
      if (stored === undefined) {
        const list = mergeRuns({ ...slow, runs: 0, firstAt: time, lastAt: time }, slow, time)
        if (await this.#records.add(this.#record(id, list))) return
      } else if (await this.#addTo(stored, slow, time)) return
    }
  }

  async #addTo(stored: StoredRecord, slow: SlowRuns, time: string): Promise<boolean> {
    const list = mergeRuns(listIn(stored.payload), slow, time)
    // A swap does not extend the expiry.
    if (Number(stored.expiresAt) - this.#now() < retentionMs / 2) {
      await this.#records.put(this.#record(stored.id, list))
      return true
    }
    return this.#records.swap(stored, stored.payload, JSON.stringify(list))
  }

  #record(id: string, list: StoredList): NewRecord {
    return { kind: recordKind, id, payload: JSON.stringify(list), expiresAt: this.#now() + retentionMs }
  }
}

function idOf({ request, index }: SlowList): string {
  return hash('sha256', `${request} ${index ?? ''}`, 'base64url')
}

function mergeRuns(before: StoredList, slow: SlowRuns, time: string): StoredList {
  const { request, index, advice } = slow
  const { scannedRows, returnedRows, summary, indexes } =
    slow.scannedRows >= before.scannedRows ? slow : before
  const runs = before.runs + slow.runs
  return {
    request,
    runs,
    scannedRows,
    returnedRows,
    summary,
    indexes,
    index,
    advice,
    firstAt: before.firstAt,
    lastAt: time,
  }
}
