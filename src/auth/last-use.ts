/**
 * When an API key, a session or an app was last used, and from where, to the hour. Stored beside it in a record of its
 * own: a write of the key or session itself would empty every cache of its kind, and a key's would be an event as well.
 * All nodes together write it at most once an hour. Each node remembers when that was, so that most requests ask nothing.
 */
import { Cache, CacheBound } from '../cache.ts'
import type { Records } from '../records.ts'

export type LastUseKind = 'KeyUse' | 'SessionUse' | 'AppUse'

/** From where a browser asks. */
export interface Place {
  readonly address: string
  /** ISO 3166-1 alpha-2; undefined where no proxy tells it. */
  readonly country?: string | undefined
}

export interface LastUse {
  /** Milliseconds since 1970. */
  readonly at: number
  /** Undefined where the use told none. */
  readonly place?: Place | undefined
}

/** What was used. */
export interface Used {
  readonly kind: LastUseKind
  readonly id: string
  /** The id of the user. */
  readonly owner: string
  /** Milliseconds since 1970; null: when the record is deleted. */
  readonly expiresAt: number | null
  readonly place?: Place | undefined
}

type UsedName = Pick<Used, 'kind' | 'id'>

function keyOf({ kind, id }: UsedName): string {
  return `${kind}:${id}`
}

/** Uses are known to the hour. */
export const useStepMs = 60 * 60 * 1000
const maxRemembered = 100_000
const neverMs = Number.NEGATIVE_INFINITY

/** Of an app of a user. */
export function appUseId(userId: string | number, clientId: string): string {
  return `${userId}:${clientId}`
}

type LastUseRecords = Pick<Records, 'get' | 'add' | 'swap' | 'delete'>

export class LastUses {
  readonly #records: LastUseRecords
  readonly #now: () => number
  /** When a use was last written, as far as this process knows. */
  readonly #written = new Cache<string, number>(new CacheBound('last_uses', maxRemembered))
  readonly #storing = new Set<Promise<void>>()

  constructor(records: LastUseRecords, now: () => number = () => Date.now()) {
    this.#records = records
    this.#now = now
  }

  /** Whether a use should be noted now. */
  isDue(used: UsedName): boolean {
    const before = this.#written.get(keyOf(used))
    return before === undefined || this.#now() - before >= useStepMs
  }

  /** Stores the time, unless one of the last hour is stored. A use without a place keeps the one that is known. */
  note(used: Used): Promise<void> {
    if (!this.isDue(used)) return Promise.resolve()
    const at = this.#now()
    // Before anything is awaited: requests come in parallel.
    this.#written.set(keyOf(used), at)
    const storing = this.#store(used, at).finally(() => this.#storing.delete(storing))
    this.#storing.add(storing)
    return storing
  }

  /** Resolves when no use is being stored any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#storing)
  }

  /** Of several processes that store the same use at once, one does. */
  async #store({ kind, id, owner, expiresAt, place }: Used, at: number): Promise<void> {
    const found = await this.#records.get(kind, id)
    const before = found && lastUseOf(found.payload)
    if (before && at - before.at < useStepMs) return this.#written.set(keyOf({ kind, id }), before.at)
    const use: LastUse = { at, place: place ?? before?.place }
    const payload = JSON.stringify(use)
    if (found) await this.#records.swap({ kind, id }, found.payload, payload)
    else await this.#records.add({ kind, id, payload, expiresAt, owner })
  }

  /** To be called when something of this id begins anew: whatever was stored of its last use may have been deleted. */
  begin(used: UsedName): void {
    this.#written.set(keyOf(used), neverMs)
  }

  async forget(kind: LastUseKind, id: string): Promise<void> {
    await this.#records.delete(kind, id)
  }
}

/** The last uses of one kind of a user, by id. */
export async function lastUsesOf(
  records: Pick<Records, 'byOwner'>,
  kind: LastUseKind,
  userId: number | string,
): Promise<ReadonlyMap<string, LastUse>> {
  const found = await records.byOwner(kind, String(userId))
  return new Map(found.map(({ id, payload }) => [id, lastUseOf(payload)]))
}

function lastUseOf(payload: string): LastUse {
  return JSON.parse(payload) as LastUse
}
