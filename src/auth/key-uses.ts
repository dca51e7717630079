/**
 * When API keys were last used, to the hour. Beside the keys and not a field of theirs: a write of a key would empty every
 * cache of keys, and become an event.
 */
import { Cache, CacheBound } from '../cache.ts'
import { type RecordKey, type Records, recordsOfItems } from '../records.ts'

const kind = recordsOfItems.get('api_keys') ?? ''

const hourMs = 60 * 60_000
/** Uses are stored together, after the answers that they belong to. */
const delayMs = 100
const maxKnown = 100_000
/** More keys than that are stored when they are used again. */
const maxWaiting = 10_000
const storedAtOnce = 20

interface StoredUse {
  /** Milliseconds since 1970. */
  readonly at: number
}

interface Use extends StoredUse {
  readonly keyId: number
  readonly userId: number
}

export interface KeyUses {
  /**
   * Notes a use at a time, in milliseconds since 1970; stored later, unless one of the last hour is. Returns when the
   * next use is worth noting.
   */
  note(keyId: number, userId: number, at: number): number
  /** Stores what waits; notes after it are dropped. */
  close(): Promise<void>
}

export interface KeyUsesParts {
  readonly records: Pick<Records, 'get' | 'add' | 'swap'>
  readonly onFault: (error: unknown) => void
}

function atOf(payload: string): number {
  return (JSON.parse(payload) as StoredUse).at
}

/** Of several processes that store the same key’s use at once, one does. */
async function store(records: KeyUsesParts['records'], { keyId, userId, at }: Use): Promise<void> {
  const key: RecordKey = { kind, id: String(keyId) }
  const payload = JSON.stringify({ at } satisfies StoredUse)
  const before = await records.get(kind, key.id)
  if (before === undefined) await records.add({ ...key, payload, expiresAt: null, owner: String(userId) })
  else if (at - atOf(before.payload) >= hourMs) await records.swap(key, before.payload, payload)
}

export function createKeyUses({ records, onFault }: KeyUsesParts): KeyUses {
  const known = new Cache<number, number>(new CacheBound('key_uses', maxKnown))
  const waiting = new Map<number, Use>()
  let timer: NodeJS.Timeout | undefined
  let storing: Promise<void> = Promise.resolve()
  let isClosed = false
  const storeAll = async () => {
    timer = undefined
    const uses = [...waiting.values()]
    waiting.clear()
    for (let from = 0; from < uses.length; from += storedAtOnce) {
      const part = uses.slice(from, from + storedAtOnce)
      await Promise.all(part.map(use => store(records, use).catch(onFault)))
    }
  }
  const flush = () => {
    storing = storing.then(storeAll)
    return storing
  }
  return {
    note(keyId, userId, at) {
      const last = known.get(keyId)
      if (last !== undefined && at - last < hourMs) return last + hourMs
      if (isClosed || waiting.size >= maxWaiting) return at
      known.set(keyId, at)
      waiting.set(keyId, { keyId, userId, at })
      timer ??= setTimeout(flush, delayMs).unref()
      return at + hourMs
    },
    close() {
      isClosed = true
      clearTimeout(timer)
      return flush()
    },
  }
}

/** When each of a user’s keys was last used, in milliseconds since 1970, by the key’s id. */
export async function lastUses(
  records: Pick<Records, 'byOwner'>,
  userId: number,
): Promise<ReadonlyMap<number, number>> {
  const found = await records.byOwner(kind, String(userId))
  return new Map(found.map(({ id, payload }) => [Number(id), atOf(payload)]))
}
