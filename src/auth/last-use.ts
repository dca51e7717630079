/**
 * When a session or an app was last used, and from where: a record of its own, because a write of a session would empty the
 * caches of all sessions. Written at most once an hour, which every process remembers, so that most requests ask nothing.
 */
import { Cache, CacheBound } from '../cache.ts'
import type { Records } from '../records.ts'

export type LastUseKind = 'SessionUse' | 'AppUse'

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
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly place?: Place | undefined
}

/** Uses are known to the hour. */
export const useStepMs = 60 * 60 * 1000
const maxRemembered = 100_000

/** Of an app of a user. */
export function appUseId(userId: string | number, clientId: string): string {
  return `${userId}:${clientId}`
}

export class LastUses {
  readonly #records: Records
  readonly #now: () => number
  /** When a use was last written, as far as this process knows. */
  readonly #written = new Cache<string, number>(new CacheBound('last_uses', maxRemembered))

  constructor(records: Records, now: () => number = () => Date.now()) {
    this.#records = records
    this.#now = now
  }

  /** Whether a use should be noted now. */
  isDue({ kind, id }: Pick<Used, 'kind' | 'id'>): boolean {
    const before = this.#written.get(`${kind}:${id}`)
    return before === undefined || this.#now() - before >= useStepMs
  }

  /** Stores the time, unless one of the last hour is stored. A use without a place keeps the one that is known. */
  async note({ kind, id, owner, expiresAt, place }: Used): Promise<void> {
    if (!this.isDue({ kind, id })) return
    const at = this.#now()
    const key = `${kind}:${id}`
    // Before anything is awaited: requests come in parallel.
    this.#written.set(key, at)
    const found = await this.#records.get(kind, id)
    const before = found && lastUseOf(found.payload)
    if (before && at - before.at < useStepMs) return this.#written.set(key, before.at)
    const use: LastUse = { at, place: place ?? before?.place }
    await this.#records.put({ kind, id, payload: JSON.stringify(use), expiresAt, owner })
  }

  /** The last uses of one kind of a user, by id. */
  async all(kind: LastUseKind, owner: string): Promise<ReadonlyMap<string, LastUse>> {
    const found = await this.#records.byOwner(kind, owner)
    return new Map(found.map(({ id, payload }) => [id, lastUseOf(payload)]))
  }

  async forget(kind: LastUseKind, id: string): Promise<void> {
    await this.#records.delete(kind, id)
  }
}

function lastUseOf(payload: string): LastUse {
  return JSON.parse(payload) as LastUse
}
