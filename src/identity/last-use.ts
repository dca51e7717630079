/**
 * When an API key, a session or an app was last used, and from where, to the hour. Stored in a separate record: writing the
 * key or session itself would invalidate every cache of its kind, and writing a key would also be an event. All nodes
 * together write a record at most once an hour. Each node remembers when it was written, so most requests read nothing.
 */

import { Cache, CacheBound } from '../base/cache.ts'
import type { EpochMs } from '../base/epoch-ms.ts'
import type { Records } from '../base/records.ts'

export type LastUseKind = 'KeyUse' | 'SessionUse' | 'AppUse'

/** Where a browser is. */
export interface ClientPlace {
  readonly address: string
  /** ISO 3166-1 alpha-2; undefined unless a proxy supplies it. */
  readonly country?: string | undefined
}

export interface LastUse {
  readonly at: EpochMs
  /** Undefined if it is not known. */
  readonly place?: ClientPlace | undefined
}

/** What was used. */
export interface Used {
  readonly kind: LastUseKind
  readonly id: string
  /** The id of the user. */
  readonly owner: string
  /** Null: the record is kept until it is deleted. */
  readonly expiresAt: EpochMs | null
  readonly place?: ClientPlace | undefined
}

type UsedName = Pick<Used, 'kind' | 'id'>

function keyOf({ kind, id }: UsedName): string {
  return `${kind}:${id}`
}

/** Uses are stored to the hour. */
export const useStepMs = 60 * 60 * 1000
const maxRemembered = 100_000
const neverMs = Number.NEGATIVE_INFINITY

/** The id of the last use of an app by a user. */
export function appUseId(userId: string | number, clientId: string): string {
  return `${userId}:${clientId}`
}

type LastUseRecords = Pick<Records, 'get' | 'add' | 'swap' | 'delete'>

export class LastUses {
  readonly #records: LastUseRecords
  readonly #now: () => number
  /** When each use was last written, if this process knows. */
  readonly #writtenAt = new Cache<string, number>(new CacheBound('last_uses', maxRemembered))
  readonly #storing = new Set<Promise<void>>()

  constructor(records: LastUseRecords, now: () => number = () => Date.now()) {
    this.#records = records
    this.#now = now
  }

  /** Whether a use should be stored now. */
  isDue(used: UsedName): boolean {
    const writtenAt = this.#writtenAt.get(keyOf(used))
    return writtenAt === undefined || this.#now() - writtenAt >= useStepMs
  }

  /** Stores the time unless a use within the last hour is stored. A use without a place keeps the place that is stored. */
  note(used: Used): Promise<void> {
    if (!this.isDue(used)) return Promise.resolve()
    const at = this.#now()
    // Before anything is awaited: requests are concurrent.
    this.#writtenAt.set(keyOf(used), at)
    const storing = this.#store(used, at).finally(() => this.#storing.delete(storing))
    this.#storing.add(storing)
    return storing
  }

  /** Resolves when every use that was being stored is stored. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#storing)
  }

  /** If several processes store the same use at once, one succeeds. */
  async #store({ kind, id, owner, expiresAt, place }: Used, at: number): Promise<void> {
    const record = await this.#records.get(kind, id)
    const previous = record && lastUseOf(record.payload)
    if (previous && at - previous.at < useStepMs) {
      this.#writtenAt.set(keyOf({ kind, id }), previous.at)
      return
    }
    const use: LastUse = { at, place: place ?? previous?.place }
    const payload = JSON.stringify(use)
    if (record) await this.#records.swap({ kind, id }, record.payload, payload)
    else await this.#records.add({ kind, id, payload, expiresAt, owner })
  }

  /** To be called when something with this id starts again: the record of its last use may have been deleted. */
  begin(used: UsedName): void {
    this.#writtenAt.set(keyOf(used), neverMs)
  }

  async forget(kind: LastUseKind, id: string): Promise<void> {
    await this.#records.delete(kind, id)
  }
}

/** A user's last uses of one kind, by id. */
export async function lastUsesOf(
  records: Pick<Records, 'byOwner'>,
  kind: LastUseKind,
  userId: number | string,
): Promise<ReadonlyMap<string, LastUse>> {
  const stored = await records.byOwner(kind, String(userId))
  return new Map(stored.map(({ id, payload }) => [id, lastUseOf(payload)]))
}

function lastUseOf(payload: string): LastUse {
  return JSON.parse(payload) as LastUse
}
