/**
 * Decides which node sends webhooks, or runs reactions and jobs. The holder of the lease renews a record. If the record has
 * not changed for some time, another node takes it over. Each node measures that time by its own clock, from when it last
 * saw a change, so clocks need not agree (Gray and Cheriton, Leases, 1989). A holder that has not renewed in time stops
 * before another node may take over.
 */
import type { RecordKey, Records } from '../../base/records.ts'

/** How often the holder renews the lease, and other nodes check it. */
export const renewIntervalMs = 1500
/** An unchanged record is taken over after this, or after the `takeOverMs` of its nodes. */
export const minTakeOverMs = 6000
/** How long the holder may rely on the lease, from the beginning of the last renewal. */
const validityMs = 4500

export type LeaseRecords = Pick<Records, 'get' | 'add' | 'swap'>

export interface LeaseParts {
  readonly key: RecordKey
  readonly records: LeaseRecords
  /** Unique to this process. */
  readonly holder: string
  /** Monotonic time, in milliseconds. */
  readonly elapsed: () => number
  /** Default `minTakeOverMs`. */
  readonly takeOverMs?: number
}

/** The record's payload. */
interface LeaseState {
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
  #payload: string | undefined
  #renewedAt = 0
  #isTakenOver = false
  #renewing: Promise<boolean> | undefined
  #lastSeen: { readonly payload: string; readonly since: number } | undefined

  constructor(parts: LeaseParts) {
    this.#parts = parts
  }

  get isHeld(): boolean {
    return this.#payload !== undefined && this.#parts.elapsed() - this.#renewedAt < validityMs
  }

  /** Whether the former holder has not released it: its process may have ended. */
  get isTakenOver(): boolean {
    return this.#isTakenOver
  }

  /** Takes the lease if it is free. Returns the term, or undefined if another node has the lease. */
  async take(): Promise<number | undefined> {
    const { key, records, holder, elapsed } = this.#parts
    const record = await records.get(key.kind, key.id)
    const startedAt = elapsed()
    if (record === undefined) {
      const initial = JSON.stringify({ holder, term: 1, renewals: 0 } satisfies LeaseState)
      return (await records.add({ ...key, payload: initial, expiresAt: null }))
        ? this.#adopt(initial, 1, startedAt)
        : undefined
    }
    const { payload } = record
    const state: LeaseState = JSON.parse(payload)
    if (state.holder !== null && !this.#isSilent(payload)) return undefined
    const term = state.term + 1
    const next = JSON.stringify({ holder, term, renewals: 0 } satisfies LeaseState)
    this.#isTakenOver = state.holder !== null && state.holder !== holder
    return (await records.swap(key, payload, next)) ? this.#adopt(next, term, startedAt) : undefined
  }

  /** Returns whether this node still has the lease. Rejects during a database outage. */
  renew(): Promise<boolean> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renew(): Promise<boolean> {
    const payload = this.#payload
    if (payload === undefined) return false
    const { key, records, elapsed } = this.#parts
    const startedAt = elapsed()
    const state: LeaseState = JSON.parse(payload)
    const next = JSON.stringify({ ...state, renewals: state.renewals + 1 } satisfies LeaseState)
    if (await records.swap(key, payload, next)) {
      this.#payload = next
      this.#renewedAt = startedAt
      return true
    }
    // A renewal whose response was lost has still been made.
    if ((await records.get(key.kind, key.id))?.payload === next) {
      this.#payload = next
      this.#renewedAt = startedAt
      return true
    }
    this.#payload = undefined
    return false
  }

  /** Lets another node take it at once. */
  async release(): Promise<void> {
    // A renewal that ends after the release would take the lease back.
    await this.#renewing?.catch(() => false)
    const payload = this.#payload
    if (payload === undefined) return
    this.#payload = undefined
    const free = JSON.stringify({ ...(JSON.parse(payload) as LeaseState), holder: null } satisfies LeaseState)
    const { key, records } = this.#parts
    await records.swap(key, payload, free)
  }

  #adopt(payload: string, term: number, startedAt: number): number {
    this.#payload = payload
    this.#renewedAt = startedAt
    this.#lastSeen = undefined
    return term
  }

  #isSilent(payload: string): boolean {
    const { elapsed, takeOverMs = minTakeOverMs } = this.#parts
    const now = elapsed()
    if (this.#lastSeen?.payload !== payload) this.#lastSeen = { payload, since: now }
    return now - this.#lastSeen.since >= takeOverMs
  }
}
