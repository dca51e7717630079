/**
 * What the service stores besides the model's items: sessions, codes, tokens, keys. Most expire; an expired record is
 * never returned. Records are written in the same commits as items.
 */
import type { Awaitable } from './awaitable.ts'
import type { EpochMs } from './epoch-ms.ts'

export interface RecordKey {
  /** E.g. `AccessToken`; ids are unique within a kind. */
  readonly kind: string
  /** The id of a secret is its hash: a reader of the database must not be able to use it. */
  readonly id: string
}

export interface NewRecord extends RecordKey {
  /** JSON text, which is returned unchanged. */
  readonly payload: string
  /** Null: never. */
  readonly expiresAt: EpochMs | null
  /** `deleteGrant` deletes all records of a grant. */
  readonly grant?: string | undefined
  /** A second name, unique within the kind. */
  readonly alias?: string | undefined
  /** The id of the user it belongs to; deleting the user deletes the record. */
  readonly owner?: string | undefined
}

export interface StoredRecord {
  readonly kind: string
  readonly id: string
  readonly payload: string
  readonly expiresAt: number | null
  /** Null: not consumed. */
  readonly consumedAt: EpochMs | null
  readonly grant: string | null
  readonly alias: string | null
  readonly owner: string | null
}

/** Collections each of whose items has a record of this kind under its own id. The record is deleted with the item. */
export const recordsOfItems: ReadonlyMap<string, string> = new Map([
  ['webhooks', 'WebhookSecret'],
  ['api_keys', 'KeyUse'],
])

/** The kind that stores, by user id, whether the address is confirmed: see `identity/accounts/addresses/addresses.ts`. */
export const addressRecord = 'AccountAddress'

/** The kind that stores, by user id, that an account is being deleted: see `delivery/deletions/accounts.ts`. */
export const deletionRecord = 'AccountDeletion'

/** Writes resolve when the commit is durable, and reject with an `ApiError` when nothing was changed. */
export interface Records {
  get(kind: string, id: string): Awaitable<StoredRecord | undefined>
  byAlias(kind: string, alias: string): Awaitable<StoredRecord | undefined>
  /** The records of a kind that belong to an owner, in the order of their ids. */
  byOwner(kind: string, owner: string): Awaitable<readonly StoredRecord[]>
  /** All records of a kind, in the order of their ids. */
  all(kind: string): Awaitable<readonly StoredRecord[]>
  /** At most `limit` records of a kind whose ids follow `id`, in the same order. */
  after(kind: string, id: string, limit: number): Awaitable<readonly StoredRecord[]>
  /** Stores the record, and replaces one of the same kind and id; a consumed record stays consumed. */
  put(record: NewRecord): Promise<void>
  /** Stores the record unless its id exists. Exactly one of several concurrent calls returns true. */
  add(record: NewRecord): Promise<boolean>
  /** Replaces the payload `before` by `after`, and nothing else. Returns whether the payload was still `before`. */
  swap(key: RecordKey, before: string, after: string): Promise<boolean>
  /** Consumes a record. Exactly one of several concurrent calls returns true; later ones, and those without a record, return false. */
  consume(kind: string, id: string): Promise<boolean>
  /** Returns whether the record existed. */
  delete(kind: string, id: string): Promise<boolean>
  /** Deletes every record of the grant, of all kinds. Returns their number. */
  deleteGrant(grant: string): Promise<number>
  /** Deletes an owner's records of these kinds. Returns their number. */
  deleteOwned(owner: string, kinds: readonly string[]): Promise<number>
  /**
   * Grows when a process replaces, consumes or deletes a record of the kind before it expires. A record that was read
   * is unchanged while the version is the same. New records do not count.
   */
  version(kind: string): number
}

/** Forwards every call to `records`. For wrappers that replace some of the functions. */
export function forwarding(records: Records): Records {
  return {
    get: (kind, id) => records.get(kind, id),
    byAlias: (kind, alias) => records.byAlias(kind, alias),
    byOwner: (kind, owner) => records.byOwner(kind, owner),
    all: kind => records.all(kind),
    after: (kind, id, limit) => records.after(kind, id, limit),
    put: record => records.put(record),
    add: record => records.add(record),
    swap: (key, before, after) => records.swap(key, before, after),
    consume: (kind, id) => records.consume(kind, id),
    delete: (kind, id) => records.delete(kind, id),
    deleteGrant: grant => records.deleteGrant(grant),
    deleteOwned: (owner, kinds) => records.deleteOwned(owner, kinds),
    version: kind => records.version(kind),
  }
}

/** All records of a kind in the order of their ids, read page by page. */
export async function* recordsOf(
  records: Pick<Records, 'after'>,
  kind: string,
): AsyncGenerator<StoredRecord> {
  const pageSize = 200
  for (let lastId = ''; ; ) {
    const page = await records.after(kind, lastId, pageSize)
    yield* page
    if (page.length < pageSize) return
    lastId = page.at(-1)?.id ?? ''
  }
}
