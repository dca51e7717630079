/**
 * Decides which node sends webhooks, or runs reactions and jobs. The holder of the lease renews a record. If the record has
 * not changed for some time, another node takes it over. Each node measures that time by its own clock, from when it last
 * saw a change, so clocks need not agree (Gray and Cheriton, Leases, 1989). A holder that has not renewed in time stops
 * before another node may take over.
 */
import type { RecordKey, Records } from '../../records.ts'

/** How often the holder renews, and the others look. */
export const renewIntervalMs = 1500
/** An unchanged record is taken over after this. */
const takeOverMs = 6000
/** From the beginning of the last renewal, the holder may rely on it for this long. */
const reliedOnMs = 4500

export type LeaseRecords = Pick<Records, 'get' | 'add' | 'swap'>

export interface LeaseParts {
  readonly key: RecordKey
  readonly records: LeaseRecords
  /** Unique to this process. */
  readonly holder: string
  /** Monotonic time, in milliseconds. */
  readonly elapsed: () => number
}

/** The record's payload. */
interface Held {
  /** Null: the lease is free. */
  readonly holder: string | null
  /** Grows with every new holder. */
  readonly term: number
  /** Grows with every renewal. */
  readonly renewals: number
}

export class Lease {
  readonly #parts: LeaseParts
  /** The payload as this node wrote it; undefined if this node is not the holder. */
  #own: string | undefined
  #renewedAt = 0
  #renewing: Promise<boolean> | undefined
  #seen: { readonly payload: string; readonly since: number } | undefined

  constructor(parts: LeaseParts) {
    this.#parts = parts
  }

  get isHeld(): boolean {
    return this.#own !== undefined && this.#parts.elapsed() - this.#renewedAt < reliedOnMs
  }

  /** Takes the lease if it is free. Returns the term, or undefined if another node has the lease. */
  async take(): Promise<number | undefined> {
    const { key, records, holder, elapsed } = this.#parts
    const record = await records.get(key.kind, key.id)
    const startedAt = elapsed()
    if (record === undefined) {
      const own = JSON.stringify({ holder, term: 1, renewals: 0 } satisfies Held)
      return (await records.add({ ...key, payload: own, expiresAt: null }))
        ? this.#take(own, 1, startedAt)
        : undefined
    }
    const { payload } = record
    const held: Held = JSON.parse(payload)
    if (held.holder !== null && !this.#isSilent(payload)) return undefined
    const term = held.term + 1
    const own = JSON.stringify({ holder, term, renewals: 0 } satisfies Held)
    return (await records.swap(key, payload, own)) ? this.#take(own, term, startedAt) : undefined
  }

  /** Returns whether this node still has the lease. Rejects during a database outage. */
  renew(): Promise<boolean> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renew(): Promise<boolean> {
    const own = this.#own
    if (own === undefined) return false
    const { key, records, elapsed } = this.#parts
    const startedAt = elapsed()
    const held: Held = JSON.parse(own)
    const next = JSON.stringify({ ...held, renewals: held.renewals + 1 } satisfies Held)
    if (await records.swap(key, own, next)) {
      this.#own = next
      this.#renewedAt = startedAt
      return true
    }
    // A renewal whose response was lost has still been made.
    if ((await records.get(key.kind, key.id))?.payload === next) {
      this.#own = next
      this.#renewedAt = startedAt
      return true
    }
    this.#own = undefined
    return false
  }

  /** Lets another node take it at once. */
  async release(): Promise<void> {
    // A renewal that ends after the release would take the lease back.
    await this.#renewing?.catch(() => false)
    const own = this.#own
    if (own === undefined) return
    this.#own = undefined
    const free = JSON.stringify({ ...(JSON.parse(own) as Held), holder: null } satisfies Held)
    const { key, records } = this.#parts
    await records.swap(key, own, free)
  }

  #take(own: string, term: number, startedAt: number): number {
    this.#own = own
    this.#renewedAt = startedAt
    this.#seen = undefined
    return term
  }

  #isSilent(payload: string): boolean {
    const now = this.#parts.elapsed()
    if (this.#seen?.payload !== payload) this.#seen = { payload, since: now }
    return now - this.#seen.since >= takeOverMs
  }
}
